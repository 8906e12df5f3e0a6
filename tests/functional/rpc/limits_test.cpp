// SPDX-License-Identifier: MIT
// The server's limits, against clients that try each of them over real sockets.
#include <sys/stat.h>

#include <deque>
#include <fstream>

#include "node/server/http/admin_token.hpp"
#include "tests/functional/rpc/served.hpp"

namespace retrace::node::test {
namespace {

using std::chrono::steady_clock;

constexpr const char* kToken = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

json::value parsed(const Client::Reply& reply) { return json::parse(reply.body()); }

double seconds_since(steady_clock::time_point start) {
    return std::chrono::duration<double>(steady_clock::now() - start).count();
}

std::string get_head() { return "GET /hello HTTP/1.1\r\nHost: x\r\n"; }

TEST(RpcLimits, OneAddressHasSoManyConnections) {
    rpc::ServerOptions options;
    options.limit_loopback = true;
    options.connections_per_address = 3;
    Served served(options);
    {
        std::vector<std::unique_ptr<Client>> held;
        for (int i = 0; i < 3; ++i) {
            held.push_back(std::make_unique<Client>(served.port));
            EXPECT_EQ(held.back()->post(kChainId).result_int(), 200U);
        }
        Client one_more(served.port);
        EXPECT_TRUE(one_more.closed());
        EXPECT_EQ(held[0]->post(kChainId).result_int(), 200U);
        EXPECT_EQ(served.server->stats().refused, 1U);
    }
    // Their places are free again after they disconnect.
    for (int i = 0; i < 100 && served.server->stats().http_connections != 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    Client again(served.port);
    EXPECT_EQ(again.post(kChainId).result_int(), 200U);
}

TEST(RpcLimits, ABucketOfRequestsForEachAddress) {
    rpc::ServerOptions options;
    options.limit_loopback = true;
    options.requests_per_second = 0.001;
    options.request_burst = 4;
    Served served(options);
    Client client(served.port);
    const json::value batch = parsed(client.post("[" + kChainId + "," + kChainId + "," + kChainId + "]"));
    for (const json::value& answer : batch.as_array()) EXPECT_EQ(answer.at("result"), "0x1c82");
    const json::value mixed = parsed(client.post("[" + kChainId + "," + kChainId + "]"));
    EXPECT_EQ(mixed.at(0).at("result"), "0x1c82");
    EXPECT_EQ(mixed.at(1).at("error").at("code"), -32005);
    EXPECT_EQ(mixed.at(1).at("error").at("message"), "request rate limit exceeded, try again later");
    EXPECT_EQ(client.request("GET /hello").result_int(), 429U);
    WsClient ws(served.port);  // another connection of the same address
    ws.write(kChainId);
    EXPECT_EQ(ws.read().at("error").at("code"), -32005);
}

TEST(RpcLimits, ThisMachineIsExemptByDefault) {
    rpc::ServerOptions options;
    options.connections_per_address = 1;
    options.requests_per_second = 0.001;
    options.request_burst = 1;
    Served served(options);
    Client first(served.port), second(served.port);
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(parsed(first.post(kChainId)).at("result"), "0x1c82");
        EXPECT_EQ(parsed(second.post(kChainId)).at("result"), "0x1c82");
    }
}

TEST(RpcLimits, AHeadThatDripsIsCutOff) {
    rpc::ServerOptions options;
    options.read_timeout = std::chrono::seconds(1);
    Served served(options);
    Client slow(served.port);
    const auto start = steady_clock::now();
    const std::string head = "POST / HTTP/1.1\r\nHost: x\r\nX-Long: ";
    EXPECT_ANY_THROW({
        for (std::size_t i = 0; seconds_since(start) < 8; ++i) {
            slow.write(i < head.size() ? head.substr(i, 1) : "a");
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
    });
    EXPECT_LT(seconds_since(start), 4);
}

TEST(RpcLimits, ABodyThatDripsIsCutOff) {
    rpc::ServerOptions options;
    options.read_timeout = std::chrono::seconds(1);
    Served served(options);
    Client slow(served.port);
    slow.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n");
    const auto start = steady_clock::now();
    EXPECT_ANY_THROW({
        while (seconds_since(start) < 8) {
            slow.write(" ");
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
    });
    EXPECT_LT(seconds_since(start), 4);
}

TEST(RpcLimits, HeadsOverTheLimitAreRefused) {
    Served served;
    Client client(served.port);
    client.write(get_head());
    EXPECT_ANY_THROW({
        for (int i = 0; i < 64; ++i) client.write("X-" + std::to_string(i) + ": " + std::string(1000, 'a') + "\r\n");
        if (client.read().result_int() == 400U) throw std::runtime_error("refused, as it should be");
    });
    Client other(served.port);
    EXPECT_EQ(other.post(kChainId).result_int(), 200U);
}

TEST(RpcLimits, ThousandsOfHalfOpenConnectionsKeepNobodyOut) {
    rpc::ServerOptions options;
    options.connections = 200;
    Served served(options);
    const auto start = steady_clock::now();
    net::io_context io;
    std::deque<tcp::socket> crowd;
    for (int i = 0; i < 3000; ++i) {
        tcp::socket& one = crowd.emplace_back(io);
        one.connect({net::ip::make_address("127.0.0.1"), served.port});
        boost::system::error_code cut;  // some are closed before they send anything
        if (i % 3 == 1) net::write(one, net::buffer("P", 1), cut);
        if (i % 3 == 2) net::write(one, net::buffer(get_head()), cut);
        if (crowd.size() > 300) crowd.pop_front();  // the descriptors of this process are limited as well
    }
    Client honest(served.port);
    EXPECT_EQ(honest.post(kChainId).result_int(), 200U);
    EXPECT_LE(served.server->stats().http_connections, 201U);
    EXPECT_LT(seconds_since(start), 30);
}

TEST(RpcLimits, JsonBombsAndBrokenTextAreRefusedByName) {
    Served served;
    Client client(served.port);
    const std::string nested = std::string(1'000'000, '[') + std::string(1'000'000, ']');
    EXPECT_EQ(parsed(client.post(nested)).at("error"), (json::value{{"code", -32700}, {"message", "parse error"}}));
    std::string objects;
    for (int i = 0; i < 100'000; ++i) objects += R"({"a":)";
    EXPECT_EQ(parsed(client.post(objects)).at("error").at("code"), -32700);
    std::string batch = "[1";
    for (int i = 0; i < 1001; ++i) batch += ",1";
    EXPECT_EQ(parsed(client.post(batch + "]")).at("error").at("message"), "batch too large");
    for (const std::string bad :
         {"\xff\xfe", "\"\xc3\x28\"", "\"\xed\xa0\x80\"", "\"\\ud800\"", "\"\xf8\x88\x80\x80\x80\""}) {
        const std::string body = R"({"jsonrpc":"2.0","id":1,"method":)" + bad + "}";
        EXPECT_EQ(parsed(client.post(body)).at("error").at("code"), -32700);
    }
    EXPECT_THAT(client.post(R"({"jsonrpc":"2.0","id":1e999999,"method":"eth_chainId"})").body(),
                HasSubstr(R"("id":1e999999,"result")"));
    EXPECT_EQ(parsed(client.post(kChainId)).at("result"), "0x1c82");
}

// Like `curl`: one connection per request.
TEST(RpcLimits, FiltersOfShortConnectionsCostNobodyHis) {
    Served served;
    const auto ask = [&](const std::string& method, const std::string& params) {
        Client client(served.port);
        return parsed(
            client.post(R"({"jsonrpc":"2.0","id":1,"method":")" + method + R"(","params":[)" + params + "]}"));
    };
    const std::string first = json::serialize(ask("eth_newBlockFilter", "").at("result"));
    for (int i = 0; i < 1500; ++i)
        ASSERT_TRUE(ask("eth_newBlockFilter", "").as_object().contains("result")) << "filter " << i;
    EXPECT_EQ(ask("eth_getFilterChanges", first).at("result"), json::array());
}

TEST(RpcLimits, AreInTheDocumentOfTheMethods) {
    Served served;
    const json::value limits = served.world.result("rpc.discover").at("x-limits");
    EXPECT_EQ(limits.at("bodyBytes"), 5 << 20);
    EXPECT_EQ(limits.at("batchRequests"), 1000);
    EXPECT_EQ(limits.at("jsonDepth"), 32);
    EXPECT_EQ(limits.at("filterIdleSeconds"), 300);
    EXPECT_EQ(limits.at("requestsPerSecond"), 1000.0);
}

TEST(RpcAdmin, NeedsTheToken) {
    rpc::ServerOptions options;
    options.admin_token = kToken;
    Served served(options);
    served.world.router.add(
        {.name = "retrace_test",
         .summary = "For administrators.",
         .params = {},
         .result = "Boolean",
         .handler = [](const rpc::Params&, rpc::Caller&) -> rpc::Answer { return json::value(true); },
         .admin = true});
    const std::string call = R"({"jsonrpc":"2.0","id":1,"method":"retrace_test"})";
    Client client(served.port);
    const auto with = [](const std::string& header) { return "Authorization: " + header + "\r\n"; };
    for (const std::string& wrong : {std::string("Bearer "), "Bearer " + std::string(64, '0'), std::string(kToken),
                                     "Basic " + std::string(kToken), "Bearer " + std::string(kToken) + "0"}) {
        const json::value answer = parsed(client.post(call, "application/json", with(wrong)));
        EXPECT_EQ(answer.at("error").at("code"), 4100) << wrong;
        EXPECT_EQ(answer.at("error").at("message"), "unauthorized: this method needs the node's bearer token");
    }
    EXPECT_EQ(parsed(client.post(call)).at("error").at("code"), 4100);
    EXPECT_EQ(parsed(client.post(call, "application/json", with("Bearer " + std::string(kToken)))).at("result"), true);
    WsClient nobody(served.port);
    nobody.write(call);
    EXPECT_EQ(nobody.read().at("error").at("code"), 4100);
}

TEST(RpcAdmin, WithoutATokenNobodyIsAdministrator) {
    EXPECT_FALSE(rpc::shows_token("Bearer ", ""));
    EXPECT_FALSE(rpc::shows_token("", ""));
    EXPECT_TRUE(rpc::shows_token(std::string("Bearer ") + kToken, kToken));
}

TEST(RpcAdmin, TheTokenIsKeptForItsOwnerAlone) {
    const TempFolder folder;
    const std::string path = folder.file("rpc-token");
    const auto made = rpc::load_admin_token(path);
    ASSERT_TRUE(made.has_value());
    EXPECT_EQ(made->size(), 64U);
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
    EXPECT_EQ(*rpc::load_admin_token(path), *made);
    ::chmod(path.c_str(), 0644);
    EXPECT_THAT(rpc::load_admin_token(path).error().message, HasSubstr("others may read"));
    ::chmod(path.c_str(), 0600);
    std::ofstream(path) << "hunter2\n";
    EXPECT_THAT(rpc::load_admin_token(path).error().message, HasSubstr("holds no token"));
}

TEST(RpcRate, BucketsFillAgainAndForgetTheIdle) {
    rpc::RateLimiter limiter(10, 2, 3);
    rpc::RateLimiter::Clock::time_point now{};
    EXPECT_TRUE(limiter.take("a", now) && limiter.take("a", now));
    EXPECT_FALSE(limiter.take("a", now));
    EXPECT_TRUE(limiter.take("b", now));
    EXPECT_FALSE(limiter.take("a", now + std::chrono::milliseconds(50)));
    EXPECT_TRUE(limiter.take("a", now + std::chrono::milliseconds(160)));
    // Further clients share one bucket, so that invented addresses gain nothing.
    EXPECT_TRUE(limiter.take("c", now));
    int taken = 0;
    for (int i = 0; i < 100; ++i) taken += limiter.take("invented" + std::to_string(i), now);
    EXPECT_EQ(taken, 2);
    EXPECT_TRUE(limiter.take("later", now + std::chrono::seconds(10)));
}

}  // namespace
}  // namespace retrace::node::test
