// SPDX-License-Identifier: MIT
// The port of an agent's own page: whom it answers, what it tells, and that nobody can block it.
#include "node/cmd/machine/machine_page.hpp"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <thread>

#include "ledger/crypto/kdf.hpp"
#include "node/net/http_client.hpp"
#include "node/platform/files.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class MachinePage : public ::testing::Test {
protected:
    void open(const std::function<void(machine::PageOptions&)>& change = [](auto&) {}) {
        machine::PageOptions options;
        options.data_dir = folder.path() / "agent";
        options.role = "solver";
        options.node_url = "http://127.0.0.1:1#ca=/secret/file";
        options.facts = [this] { return facts; };
        options.self_test = [this] {
            ++tests;
            while (!test_may_end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            return std::vector<doctor::Check>{{"cpu", doctor::Grade::warn, "slow", "fast", "time", "buy one"}};
        };
        options.stop = [this] { ++stops; };
        options.board = board;
        options.log = log;
        options.self_test_pause = std::chrono::seconds(0);
        change(options);
        auto opened = machine::MachinePage::open(std::move(options));
        ASSERT_TRUE(opened.has_value()) << opened.error().message;
        page = std::move(*opened);
        link = page->link();
        url = link.substr(0, link.find("/#"));
        token = link.substr(link.find('#') + 1);
    }
    static std::string code(const std::string& key, const std::string& text) {
        return to_hex(ledger::hmac_sha256(view(std::string_view(key)), view(std::string_view(text))));
    }
    json::object greeting(const std::string& nonce) const {
        const HttpReply reply = send({"GET", "/machine/hello?nonce=" + nonce, {}});
        EXPECT_EQ(reply.status, 200U);
        return json::parse(std::string(reply.body.begin(), reply.body.end())).as_object();
    }
    /// The header of a request as the page makes it, the first one of a session unless `number` says another.
    std::string shown(const std::string& path, const std::string& method, const std::string& key, int number = 1,
                      std::string session = "") const {
        if (session.empty()) session = greeting(std::string(64, '1')).at("session").as_string();
        const std::string head = session + "\n" + std::to_string(number);
        return "Retrace " + session + " " + std::to_string(number) + " " +
               code(key, "retrace/page/1\n" + head + "\n" + method + "\n" + path);
    }
    HttpReply ask(const std::string& path, const std::string& method = "GET", const std::string& key = "") const {
        HttpRequest request{method, path, {}};
        request.authorization = shown(path, method, key.empty() ? token : key);
        return send(request);
    }
    HttpReply send(const HttpRequest& request) const {
        HttpConnection connection(*parse_url(url));
        auto reply = connection.exchange(request, 1 << 20, kernels::StopToken::after(std::chrono::seconds(10)));
        EXPECT_TRUE(reply.has_value());
        return reply ? *reply : HttpReply{};
    }
    json::object told(const std::string& path) const {
        const HttpReply reply = ask(path);
        EXPECT_EQ(reply.status, 200U);
        return json::parse(std::string(reply.body.begin(), reply.body.end())).as_object();
    }
    /// A connection on which these bytes were sent; reads time out after ten seconds.
    FileDescriptor sent(const std::string& bytes) const {
        FileDescriptor out(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        const timeval limit{10, 0};
        ::setsockopt(out.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(port());
        EXPECT_EQ(::connect(out.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::send(out.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), std::ssize(bytes));
        return out;
    }
    /// What the server answers to these bytes until it ends the connection.
    std::string raw(const std::string& bytes) const {
        const FileDescriptor stream = sent(bytes);
        std::string out;
        std::array<char, 4096> piece;
        for (ssize_t size = 0; (size = ::recv(stream.get(), piece.data(), piece.size(), 0)) > 0;)
            out.append(piece.data(), static_cast<std::size_t>(size));
        return out;
    }
    std::uint16_t port() const { return static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))); }
    std::string get(const std::string& headers, const std::string& path = "/machine/state") const {
        return raw("GET " + path + " HTTP/1.1\r\nConnection: close\r\nAuthorization: " + shown(path, "GET", token) +
                   "\r\n" + headers + "\r\n");
    }

    test::TemporaryFolder folder;
    machine::LedgerFacts facts;
    std::shared_ptr<AgentBoard> board = std::make_shared<AgentBoard>();
    std::shared_ptr<LogTail> log = std::make_shared<LogTail>();
    std::atomic<int> tests{0}, stops{0};
    std::atomic<bool> test_may_end{true};
    std::unique_ptr<machine::MachinePage> page;
    std::string link, url, token;
};

TEST_F(MachinePage, AnswersOnlyWhoShowsTheToken) {
    open();
    EXPECT_EQ(token.size(), 64U);
    for (const char* path : {"/machine/state", "/machine/log", "/machine/self-test", "/machine/stop"}) {
        const std::string host = "Host: " + url.substr(7) + "\r\n\r\n";
        EXPECT_THAT(raw("GET " + std::string(path) + " HTTP/1.1\r\nConnection: close\r\n" + host),
                    StartsWith("HTTP/1.1 401"));
        EXPECT_EQ(ask(path, "GET", std::string(64, '0')).status, 401U);
        EXPECT_EQ(ask(path, "POST", token.substr(1)).status, 401U);
        EXPECT_EQ(ask(path + std::string("?token=") + token, "GET", "x").status, 401U) << "no address holds it";
        HttpRequest plain{"GET", path, {}};
        plain.authorization = "Bearer " + token;
        EXPECT_EQ(send(plain).status, 401U) << "nobody has a reason to send it";
    }
    EXPECT_EQ(stops + tests, 0);
    EXPECT_EQ(ask("/machine/state").status, 200U);
}

TEST_F(MachinePage, ShowsThatItKnowsTheTokenBeforeThePageDoes) {
    open();
    const std::string nonce(64, 'a');
    const json::object told = greeting(nonce);
    const std::string session(told.at("session").as_string());
    EXPECT_EQ(told.at("code").as_string(), code(token, "retrace/agent/1\n" + nonce + "\n" + session));
    EXPECT_NE(greeting(nonce).at("session").as_string(), session);
    for (const std::string& wrong : {std::string(), nonce.substr(1), nonce + "a", std::string(64, 'g')})
        EXPECT_EQ(send({"GET", "/machine/hello?nonce=" + wrong, {}}).status, 400U) << wrong;
    EXPECT_EQ(send({"POST", "/machine/hello?nonce=" + nonce, {}}).status, 400U);
    // Each answer has a code too, so that nobody else's is taken for it.
    const std::string reply = raw("GET /machine/log HTTP/1.1\r\nConnection: close\r\nHost: " + url.substr(7) +
                                  "\r\nAuthorization: " + shown("/machine/log", "GET", token, 7, session) + "\r\n\r\n");
    const std::size_t body = reply.find("\r\n\r\n");
    ASSERT_NE(body, std::string::npos) << reply;
    EXPECT_THAT(reply, HasSubstr("Retrace-Proof: " +
                                 code(token, "retrace/answer/1\n" + session + "\n7\n200\n" + reply.substr(body + 4))));
}

TEST_F(MachinePage, TakesNoRequestTwiceAndNoOther) {
    open();
    const std::string session(greeting(std::string(64, '1')).at("session").as_string());
    const auto status = [&](const std::string& path, const std::string& header, const std::string& method = "GET") {
        HttpRequest request{method, path, {}};
        request.authorization = header;
        return send(request).status;
    };
    const std::string fifth = shown("/machine/state", "GET", token, 5, session);
    EXPECT_EQ(status("/machine/state", fifth), 200U);
    EXPECT_EQ(status("/machine/state", fifth), 401U);
    EXPECT_EQ(status("/machine/state", shown("/machine/state", "GET", token, 4, session)), 401U);
    const std::string sixth = shown("/machine/state", "GET", token, 6, session);
    EXPECT_EQ(status("/machine/stop", sixth, "POST"), 401U);
    EXPECT_EQ(status("/machine/state", sixth, "POST"), 401U);
    EXPECT_EQ(status("/machine/state?from=1", sixth), 401U);
    EXPECT_EQ(status("/machine/state", sixth), 200U);
    std::string foreign = session;  // of a session that this process never began
    foreign.back() = foreign.back() == '0' ? '1' : '0';
    EXPECT_EQ(status("/machine/state", shown("/machine/state", "GET", token, 7, foreign)), 401U);
    for (const char* wrong : {"", "Retrace", "Retrace ", "Retrace 1 1 1", "Retrace   "})
        EXPECT_EQ(status("/machine/state", wrong), 401U) << wrong;
    EXPECT_EQ(stops, 0);
    // Of many sessions the oldest ends, so that no old request of it counts again.
    for (int i = 0; i < 64; ++i) EXPECT_EQ(ask("/machine/state").status, 200U);
    EXPECT_EQ(status("/machine/state", shown("/machine/state", "GET", token, 8, session)), 401U);
}

TEST_F(MachinePage, MakesATokenAtEachStartInAFileOfItsOwner) {
    open();
    const auto file = folder.path() / "agent" / "console-token";
    EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(0600));
    const std::string first = token;
    page.reset();
    std::filesystem::permissions(file, std::filesystem::perms(0644));
    open();
    EXPECT_NE(token, first) << "the link of the process before may have been opened at whoever took the port";
    EXPECT_EQ(ask("/machine/state", "GET", first).status, 401U);
    EXPECT_EQ(ask("/machine/state").status, 200U);
    EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms(0600));
    const auto held = read_file(file.string(), 100);
    ASSERT_TRUE(held.has_value());
    EXPECT_EQ(std::string(held->begin(), held->end()), token + "\n");
    page.reset();
    std::filesystem::remove(file);
    std::filesystem::create_directories(file / "full");
    machine::PageOptions options;
    options.data_dir = folder.path() / "agent";
    const auto refused = machine::MachinePage::open(std::move(options));
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().message, HasSubstr("cannot be replaced"));
}

TEST_F(MachinePage, RefusesForeignHostsAndOrigins) {
    open();
    const std::string port = std::to_string(this->port());
    EXPECT_THAT(get("Host: 127.0.0.1:" + port + "\r\n"), StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(get("Host: localhost:" + port + "\r\nOrigin: http://localhost:" + port + "\r\n"),
                StartsWith("HTTP/1.1 200"));
    for (const char* host : {"evil.example", "192.168.1.2", "169.254.169.254", "127.0.0.1.evil.example"}) {
        const std::string answer = get("Host: " + std::string(host) + ":" + port + "\r\n");
        EXPECT_THAT(answer, StartsWith("HTTP/1.1 403")) << host;
        EXPECT_THAT(answer, Not(HasSubstr("--rpc-allow-host"))) << "an agent has no such flag";
        EXPECT_THAT(get("Host: " + std::string(host) + "\r\n", "/"), StartsWith("HTTP/1.1 403")) << host;
    }
    for (const char* origin : {"http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"}) {
        const std::string answer = get("Host: 127.0.0.1:" + port + "\r\nOrigin: " + std::string(origin) + "\r\n");
        EXPECT_THAT(answer, StartsWith("HTTP/1.1 403")) << origin;
        EXPECT_THAT(answer, Not(HasSubstr("Access-Control"))) << origin;
    }
}

TEST_F(MachinePage, HasNoOtherPaths) {
    open();
    EXPECT_EQ(ask("/machine/secret").status, 404U);
    EXPECT_EQ(ask("/", "POST").status, 404U) << "no JSON-RPC";
    EXPECT_EQ(ask("/machine/stop", "GET").status, 405U);
    const std::string host = "Host: " + url.substr(7) + "\r\n";
    EXPECT_THAT(raw("GET / HTTP/1.1\r\n" + host +
                    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"),
                StartsWith("HTTP/1.1 404"));
    EXPECT_THAT(raw("POST /machine/stop HTTP/1.1\r\n" + host + "Content-Length: 1\r\n\r\nx"),
                StartsWith("HTTP/1.1 413"));
}

TEST_F(MachinePage, TellsWhatTheAgentDoes) {
    open();
    AgentStatus status;
    status.address = "0xAb";
    status.height = 7;
    status.work = {"train task 3 to checkpoint 7", "answer"};
    status.duties = {{"checkpoint 7 of 9", 3, 40}, {"waits", 3, 0}};
    status.choices = R"([{"task":3,"taken":false,"reason":"<script>alert(1)</script>"}])";
    status.earlier = R"([{"task":2,"taken":true,"reason":"it brings most","height":40}])";
    status.reserved = R"([{"reservation":4,"from":50,"until":90,"load":0.5,"left":0.5}])";
    board->set(status);
    facts.stake.bonded = ledger::U256(16);
    facts.pace_s = 1.5;
    const json::object state = told("/machine/state");
    EXPECT_EQ(state.at("role").as_string(), "solver");
    EXPECT_EQ(state.at("node").as_string(), "http://127.0.0.1:1") << "behind # may be the name of a file";
    EXPECT_EQ(state.at("work").as_array().size(), 2U);
    EXPECT_EQ(state.at("duties").at(0).at("due").to_number<int>(), 40);
    EXPECT_EQ(state.at("choices").at(0).at("reason").as_string(), "<script>alert(1)</script>");
    EXPECT_EQ(state.at("earlier").at(0).at("height"), 40);
    EXPECT_EQ(state.at("reserved").at(0).at("reservation").to_number<int>(), 4);
    EXPECT_EQ(state.at("ledger").at("bonded").as_string(), "0x10");
    EXPECT_EQ(state.at("self_test").at("running").as_bool(), false);
}

TEST_F(MachinePage, ShowsWhatIsNewInTheLog) {
    open();
    log->add("one\n");
    log->add(std::string("tw\x1b[2Jo"));
    const json::object first = told("/machine/log");
    EXPECT_EQ(json::serialize(first), R"({"first":0,"lines":["one","tw?[2Jo"]})");
    log->add("three");
    EXPECT_EQ(json::serialize(told("/machine/log?from=2")), R"({"first":2,"lines":["three"]})");
    EXPECT_EQ(told("/machine/log?from=9").at("lines").as_array().size(), 3U) << "a number of an earlier process";
    EXPECT_EQ(told("/machine/log?from=-1").at("lines").as_array().size(), 3U);
}

TEST_F(MachinePage, TestsOnRequestAndOneAtATime) {
    open([](machine::PageOptions& options) { options.self_test_pause = std::chrono::seconds(60); });
    test_may_end = false;
    EXPECT_EQ(ask("/machine/self-test", "POST").status, 202U);
    EXPECT_EQ(ask("/machine/self-test", "POST").status, 429U);
    EXPECT_TRUE(told("/machine/state").at("self_test").at("running").as_bool());
    test_may_end = true;
    for (int i = 0; i < 500 && told("/machine/state").at("self_test").at("running").as_bool(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const json::object state = told("/machine/state");
    EXPECT_EQ(state.at("self_test").at("result").at("checks").at(0).at("remedy").as_string(), "buy one");
    EXPECT_EQ(ask("/machine/self-test", "POST").status, 429U) << "a minute has to pass";
    EXPECT_EQ(tests, 1);
}

TEST_F(MachinePage, StopsTheAgentOnRequest) {
    open();
    EXPECT_EQ(ask("/machine/stop", "POST").status, 202U);
    EXPECT_EQ(stops, 1);
}

TEST_F(MachinePage, IsNotBlockedByManyOrSlowConnections) {
    open([](machine::PageOptions& options) {
        options.connections = 8;
        options.read_timeout = std::chrono::seconds(1);
    });
    std::vector<FileDescriptor> slow;
    for (int i = 0; i < 20; ++i) slow.push_back(sent("GET /machine/state HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "));
    // Those beyond the limit were closed at once, the others are after a second without the rest of their head.
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    EXPECT_EQ(ask("/machine/state").status, 200U);
}

TEST_F(MachinePage, SaysWhatToDoWhenItsPortIsTaken) {
    open();
    machine::PageOptions options;
    options.data_dir = folder.path() / "other";
    options.port = port();
    const auto refused = machine::MachinePage::open(std::move(options));
    ASSERT_FALSE(refused.has_value());
    EXPECT_THAT(refused.error().message, HasSubstr("taken by another process; choose another --console-port"));
}

}  // namespace
}  // namespace retrace::node
