// SPDX-License-Identifier: MIT
// `retrace doctor` learns from a node whether the port of its agent is reached, by an address of this machine that is not
// loopback: from a node's sight the same as another machine.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include "node/cmd/doctor/probe.hpp"
#include "node/net/address_scope.hpp"
#include "node/net/reach.hpp"
#include "node/platform/process.hpp"
#include "node/server/dial_back_method.hpp"
#include "tests/functional/rpc/served.hpp"

namespace retrace::node::test {
namespace {

/// An IPv4 address of this machine beside loopback; empty: it has none.
std::string own_address() {
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) return {};
    std::string out;
    for (const ifaddrs* one = all; one != nullptr && out.empty(); one = one->ifa_next) {
        if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET || (one->ifa_flags & IFF_LOOPBACK) != 0)
            continue;
        char text[INET_ADDRSTRLEN] = {};
        ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(one->ifa_addr)->sin_addr, text, sizeof text);
        out = text;
    }
    ::freeifaddrs(all);
    return out;
}

struct Reachability : ::testing::Test {
    void SetUp() override {
        address = own_address();
        if (address.empty()) GTEST_SKIP() << "SKIP: this machine has no IPv4 address beside loopback";
        rpc::ServerOptions options;
        options.host = address;
        served.emplace(std::move(options));
        register_dial_back(served->world.router, dial_back, DialBackScope::also_own);
        question.node_url = "http://" + address + ":" + std::to_string(served->port);
        question.listen = "0.0.0.0";
        question.port = free_port().value();
        question.endpoint = "http://" + address + ":" + std::to_string(question.port);
    }
    static DialBack::Options quick() {
        DialBack::Options out;
        out.attempt = std::chrono::milliseconds(500);
        out.told = std::chrono::milliseconds(600);
        out.pause = std::chrono::milliseconds(100);
        return out;
    }

    std::string address;
    DialBack dial_back{quick()};
    std::optional<Served> served;
    doctor::Question question;
};

TEST_F(Reachability, OfAPortThatIsOpen) {
    const doctor::Reachability found = doctor::probe_reach(question);
    EXPECT_EQ(found.reached, true) << found.why_not;
    EXPECT_EQ(found.address, scope_of(address) == AddressScope::open ? address : "");
    EXPECT_EQ(found.named, std::vector{address});
    EXPECT_NE(doctor::judge(found).grade, doctor::Grade::fail);
    EXPECT_THAT(doctor::judge(found).found, HasSubstr("the node reached this machine at "));
}

TEST_F(Reachability, OfAPortThatOnlyThisMachineReaches) {
    question.listen = "127.0.0.1";
    const doctor::Reachability found = doctor::probe_reach(question);
    EXPECT_EQ(found.reached, false) << found.why_not;
    EXPECT_EQ(doctor::judge(found).grade, doctor::Grade::fail);
    EXPECT_THAT(doctor::judge(found).remedy, HasSubstr("open TCP port " + std::to_string(question.port)));
}

TEST_F(Reachability, OfAnEndpointWithTls) {
    const TempFolder folder;
    rpc::ServerOptions options;
    options.host = address;
    options.port = 0;
    options.json_rpc = false;
    options.tls = tls::self_signed(folder.path(), address).value();
    rpc::Server in_front(options, *served->world.dispatcher);
    in_front.route({"/reach/", 0, [](const HttpRequest& request) {
                        return HttpReply{200, "text/plain", to_bytes(view(reach_answer_to(request.target)))};
                    }});
    const std::string port = std::to_string(in_front.bind().value());
    in_front.serve();
    const auto fingerprint = tls::fingerprint_of(options.tls->certificate).value();
    question.agent_runs = true;
    question.endpoint = "https://" + address + ":" + port + "#sha256=" + to_hex(fingerprint);
    const doctor::Reachability found = doctor::probe_reach(question);
    in_front.stop();
    EXPECT_EQ(found.reached, true) << found.why_not;
    EXPECT_TRUE(found.tls);
    EXPECT_THAT(doctor::judge(found).found, HasSubstr("the node reached this machine at "));
}

TEST(DialBackByTls, NamesTheHostOfTheEndpointInTheHandshake) {
    net::io_context context;
    tcp::acceptor acceptor(context, {net::ip::make_address("127.0.0.1"), 0});
    const std::uint16_t port = acceptor.local_endpoint().port();
    DialBack dial_back;
    ASSERT_TRUE(dial_back.ask("127.0.0.1", port, Hash32{}, Url{"agent.example", std::to_string(port), true, {}}));
    tcp::socket socket = acceptor.accept();
    std::string hello(2048, 0);
    hello.resize(socket.read_some(net::buffer(hello)));
    EXPECT_THAT(hello, HasSubstr("agent.example"));
}

TEST(ReachabilityByAProxy, IsRefusedByTheNode) {
    DialBack dial_back;
    Served served;
    register_dial_back(served.world.router, dial_back, DialBackScope::also_own);
    const std::string body =
        R"({"jsonrpc":"2.0","id":1,"method":"retrace_dialBack","params":["0x2328","0x)" + std::string(64, 'a') + "\"]}";
    const auto answer = [&](const std::string& header) {
        return Client(served.port).post(body, "application/json", header).body();
    };
    for (const char* header : {"X-Forwarded-For: 198.51.100.7\r\n", "forwarded: for=198.51.100.7\r\n",
                               "Via: 1.1 proxy\r\n", "X-Real-IP: 198.51.100.7\r\n"})
        EXPECT_THAT(answer(header), HasSubstr("came by a proxy")) << header;
    EXPECT_THAT(answer(""), HasSubstr("\"outcome\":\"dialling\""));
}

TEST(ReachabilityByAProxy, IsRefusedOnAWebSocketThatCameByOne) {
    DialBack dial_back;
    Served served;
    register_dial_back(served.world.router, dial_back, DialBackScope::also_own);
    const auto answer = [&](const WsClient::Fields& fields) {
        WsClient client(served.port, fields);
        client.write(R"({"jsonrpc":"2.0","id":1,"method":"retrace_dialBack","params":["0x2328","0x)" +
                     std::string(64, 'a') + "\"]}");
        return json::serialize(client.read());
    };
    EXPECT_THAT(answer({{"X-Forwarded-For", "198.51.100.7"}}), HasSubstr("came by a proxy"));
    EXPECT_THAT(answer({}), HasSubstr("\"outcome\":\"dialling\""));
}

TEST_F(Reachability, IsRefusedWhereTheCallComesFromTheNodesOwnAddress) {
    Served strict([&] {
        rpc::ServerOptions options;
        options.host = address;
        return options;
    }());
    register_dial_back(strict.world.router, dial_back, DialBackScope::all);
    question.node_url = "http://" + address + ":" + std::to_string(strict.port);
    const doctor::Reachability found = doctor::probe_reach(question);
    EXPECT_EQ(found.reached, std::nullopt);
    EXPECT_THAT(found.why_not, HasSubstr("the node's own machine, or by a proxy on it"));
}

TEST_F(Reachability, IsNotTestedByANodeThatRefuses) {
    question.node_url = "http://127.0.0.1:1";
    const doctor::Reachability found = doctor::probe_reach(question);
    EXPECT_EQ(found.reached, std::nullopt);
    EXPECT_EQ(doctor::judge(found).grade, doctor::Grade::warn);
}

}  // namespace
}  // namespace retrace::node::test
