// SPDX-License-Identifier: MIT
// The server over real loopback sockets: HTTP, WebSocket, limits, and malicious clients.
#include "tests/functional/rpc/served.hpp"
#include "tests/unit/node/rpc_beginning.hpp"

namespace retrace::node::test {
namespace {

TEST(RpcServer, AnswersOverAKeptConnection) {
    Served served;
    Client client(served.port);
    for (int i = 0; i < 3; ++i) {
        const auto reply = client.post(kChainId);
        EXPECT_EQ(reply.result_int(), 200U);
        EXPECT_EQ(reply[http::field::content_type], "application/json");
        EXPECT_EQ(json::parse(reply.body()).at("result"), "0x1c82");
    }
    EXPECT_EQ(client.post(R"({"jsonrpc":"2.0","method":"eth_chainId"})").body(), "");
    EXPECT_EQ(client.post("{").result_int(), 200U);
}

TEST(RpcServer, AsksForJson) {
    Served served;
    Client client(served.port);
    EXPECT_EQ(client.post(kChainId, "text/plain").result_int(), 415U);
    EXPECT_EQ(client.post(kChainId, "application/json; charset=utf-8").result_int(), 200U);
    EXPECT_EQ(client.request("GET /").result_int(), 405U);
}

TEST(RpcServer, SendsCorsHeadersToThoseOnTheList) {
    Served served;
    Client client(served.port);
    const auto allowed = client.request("OPTIONS /", "Origin: https://wallet.example\r\n");
    EXPECT_EQ(allowed.result_int(), 204U);
    EXPECT_EQ(allowed[http::field::access_control_allow_origin], "https://wallet.example");
    EXPECT_THAT(std::string(allowed[http::field::access_control_allow_headers]), HasSubstr("content-type"));
    const auto other = client.request("OPTIONS /", "Origin: https://evil.example\r\n");
    EXPECT_EQ(other.count(http::field::access_control_allow_origin), 0U);
    const auto post = client.post(kChainId, "application/json", "Origin: https://wallet.example\r\n");
    EXPECT_EQ(post[http::field::access_control_allow_origin], "https://wallet.example");
    EXPECT_ANY_THROW(WsClient(served.port, "https://evil.example"));
    EXPECT_NO_THROW(WsClient(served.port, "https://wallet.example"));
}

// Browsers send no JSON without a preflight request, but other programs that run pages might.
TEST(RpcServer, TakesNothingFromAPageThatIsNotOnTheList) {
    Served served;
    Client client(served.port);
    const std::string evil = "Origin: https://evil.example\r\n";
    const auto post = client.post(kChainId, "application/json", evil);
    EXPECT_EQ(post.result_int(), 403U);
    EXPECT_EQ(post.count(http::field::access_control_allow_origin), 0U);
    EXPECT_THAT(post.body(), HasSubstr("--cors"));
    const std::string metamask = "Origin: chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn\r\n";
    EXPECT_EQ(client.post(kChainId, "application/json", metamask).result_int(), 200U) << "no page is called so";
    EXPECT_EQ(client.post(kChainId, "application/json", "Origin: null\r\n").result_int(), 403U);
    EXPECT_EQ(client.request("PUT /hello", evil + "Content-Length: 1\r\n", "a").result_int(), 403U);
    EXPECT_EQ(client.request("GET /hello", evil).result_int(), 200U) << "which it cannot read";
    EXPECT_EQ(client.post(kChainId).result_int(), 200U) << "no page";
    EXPECT_EQ(served.server->stats().refused, 3U);
    rpc::ServerOptions options;
    options.cors_origins = {"*"};
    Served open(options);
    Client any(open.port);
    const auto taken = any.post(kChainId, "application/json", evil);
    EXPECT_EQ(taken.result_int(), 200U);
    EXPECT_EQ(taken[http::field::access_control_allow_origin], "*");
}

TEST(RpcServer, GivesRoutesTheirRequests) {
    Served served;
    Client client(served.port);
    const auto reply = client.request("PUT /hello?y=1", "Content-Length: 3\r\n", "abc");
    EXPECT_EQ(reply.body(), "PUT /hello?y=1 abc");
    EXPECT_EQ(client.request("PUT /under/x?y=1", "Content-Length: 3\r\n", "abc").body(), "PUT /under/x?y=1 abc");
    EXPECT_EQ(client.request("PUT /hello", "Content-Length: 5\r\n", "throw").result_int(), 500U);
    EXPECT_EQ(client.request("PUT /hello", "Content-Length: 11\r\n").result_int(), 413U);
    EXPECT_TRUE(client.closed());
}

TEST(RpcServer, RefusesBodiesOverTheLimit) {
    Served served;
    Client declared(served.port);
    EXPECT_EQ(declared.request("POST /", "Content-Type: application/json\r\nContent-Length: 5242881\r\n").result_int(),
              413U);
    Client chunked(served.port);
    chunked.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
    const std::string chunk = "80000\r\n" + std::string(0x80000, ' ') + "\r\n";
    try {
        for (int i = 0; i < 11; ++i) chunked.write(chunk);
        EXPECT_EQ(chunked.read().result_int(), 413U);
    } catch (const boost::system::system_error&) {
        // The server closed before everything was sent, which is also a refusal.
    }
    Client fine(served.port);
    const std::string big(4'000'000, ' ');
    EXPECT_EQ(fine.post(big + kChainId).result_int(), 200U);
}

TEST(RpcServer, AnswersWhatIsNotHttp) {
    Served served;
    Client client(served.port);
    client.write("\x16\x03\x01 hello\r\n\r\n");
    EXPECT_EQ(client.read().result_int(), 400U);
    Client long_header(served.port);
    long_header.write("GET / HTTP/1.1\r\nX: " + std::string(20'000, 'a') + "\r\n\r\n");
    EXPECT_EQ(long_header.read().result_int(), 400U);
}

TEST(RpcServer, ClosesConnectionsThatSayNothing) {
    rpc::ServerOptions options;
    options.read_timeout = std::chrono::seconds(1);
    Served served(options);
    Client silent(served.port);
    Client half(served.port);
    half.write("POST / HTTP/1.1\r\nContent-Le");
    Client body(served.port);
    body.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{");
    EXPECT_TRUE(silent.closed());
    EXPECT_TRUE(half.closed());
    EXPECT_TRUE(body.closed());
}

TEST(RpcServer, ACrowdOfHalfOpenConnectionsKeepsNobodyOut) {
    rpc::ServerOptions options;
    options.connections = 20;
    Served served(options);
    std::vector<std::unique_ptr<Client>> crowd;
    for (int i = 0; i < 100; ++i) crowd.push_back(std::make_unique<Client>(served.port));
    Client client(served.port);
    EXPECT_EQ(client.post(kChainId).result_int(), 200U);
    EXPECT_LE(served.server->stats().http_connections, 21U);
    EXPECT_GE(served.server->stats().refused, 70U);
    EXPECT_TRUE(crowd.front()->closed());
}

TEST(RpcServer, SaysWhenThePortIsTaken) {
    Served served;
    rpc::ServerOptions options;
    options.port = served.port;
    rpc::Server second(options, *served.world.dispatcher);
    const auto bound = second.bind();
    ASSERT_FALSE(bound.has_value());
    EXPECT_THAT(bound.error().message, HasSubstr("port in use: 127.0.0.1:" + std::to_string(served.port)));
    options.host = "not an address";
    rpc::Server third(options, *served.world.dispatcher);
    EXPECT_FALSE(third.bind().has_value());
}

TEST(RpcWebSocket, PushesHeadsLogsAndPendingTransactions) {
    Served served;
    WsClient ws(served.port);
    EXPECT_EQ(ws.call("eth_chainId", {}), "0x1c82");
    const json::value heads = ws.call("eth_subscribe", {"newHeads"});
    const json::value logs =
        ws.call("eth_subscribe", {"logs", json::object{{"address", ledger::to_0x(ToyExecutor::contract())}}});
    const json::value pending = ws.call("eth_subscribe", {"newPendingTransactions"});
    const std::string hash =
        served.world.send(served.world.make_tx(0, ToyExecutor::contract(), 0, {ToyExecutor::emit, 9}));
    json::value event = ws.read();
    EXPECT_EQ(event.at("method"), "eth_subscription");
    EXPECT_FALSE(event.as_object().contains("id"));
    EXPECT_EQ(event.at("params").at("subscription"), pending);
    EXPECT_EQ(text(event.at("params").at("result")), hash);
    served.world.mine();
    bool saw_head = false;
    bool saw_log = false;
    for (int i = 0; i < 2; ++i) {
        event = ws.read();
        const json::object params = event.at("params").as_object();
        if (params.at("subscription") == heads) {
            saw_head = true;
            EXPECT_EQ(params.at("result").at("number"), "0x1");
            EXPECT_FALSE(params.at("result").as_object().contains("transactions"));
        } else {
            saw_log = true;
            EXPECT_EQ(params.at("subscription"), logs);
            EXPECT_EQ(params.at("result").at("data"), "0x09");
        }
    }
    EXPECT_TRUE(saw_head && saw_log);
    EXPECT_EQ(ws.call("eth_unsubscribe", {heads}), true);
    served.world.mine();
    EXPECT_EQ(ws.call("eth_blockNumber", {}), "0x2");
}

TEST(RpcWebSocket, TakesTheSubscriptionsThatClientsOfGethMake) {
    Served served;
    WsClient ws(served.port);
    EXPECT_TRUE(ws.call("eth_subscribe", {"syncing"}).is_string()) << "and has no events";
    const json::value pending = ws.call("eth_subscribe", {"newPendingTransactions", json::object()});
    const std::string hash = served.world.send(served.world.make_tx(0, dev_key(1).address(), 1, {}, {}, 21'000));
    const json::value event = ws.read();
    EXPECT_EQ(event.at("params").at("subscription"), pending);
    EXPECT_EQ(text(event.at("params").at("result")), hash);
    served.world.mine();
    ws.write(R"({"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newPendingTransactions",{"a":1}]})");
    EXPECT_EQ(ws.read().at("error").at("code"), -32602);
}

TEST(RpcWebSocket, TheLogsThatBeginABlockHaveAReceipt) {
    const BeginningExecutor executor;
    Served served({}, &executor);
    WsClient ws(served.port);
    ws.call("eth_subscribe", {"logs", json::object{{"topics", {BeginningExecutor::kTopic}}}});
    for (int i = 0; i < 2; ++i) served.world.mine();
    const json::value told[2] = {ws.read(), ws.read()};
    for (std::size_t i = 0; i < 2; ++i) {
        const json::value log = told[i].at("params").at("result");
        EXPECT_EQ(log.at("transactionHash"), log.at("blockHash"));
        const json::value receipt = ws.call("eth_getTransactionReceipt", {log.at("transactionHash")});
        ASSERT_TRUE(receipt.is_object());
        EXPECT_EQ(receipt.at("logs").at(i), log);
        EXPECT_EQ(ws.call("eth_getTransactionByHash", {log.at("transactionHash")}).at("transactionIndex"),
                  log.at("transactionIndex"));
    }
}

TEST(RpcWebSocket, BoundsSubscriptionsAndNamesUnknownOnes) {
    rpc::ServerOptions options;
    options.subscriptions = 2;
    Served served(options);
    WsClient ws(served.port);
    ws.call("eth_subscribe", {"newHeads"});
    ws.call("eth_subscribe", {"newHeads"});
    ws.write(R"({"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]})");
    EXPECT_EQ(ws.read().at("error").at("message"), "too many subscriptions on this connection");
    ws.write(R"({"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newThings"]})");
    EXPECT_EQ(ws.read().at("error").at("code"), -32602);
    ws.write(R"({"jsonrpc":"2.0","id":1,"method":"eth_unsubscribe","params":["0x1"]})");
    EXPECT_EQ(ws.read().at("error").at("message"), "subscription not found");
}

TEST(RpcWebSocket, ASlowReaderIsCutOff) {
    rpc::ServerOptions options;
    options.held.unread = 1 << 20;
    Served served(options);
    WsClient ws(served.port);
    const std::string discover = R"({"jsonrpc":"2.0","id":1,"method":"rpc.discover"})";
    std::string batch = "[" + discover;
    for (int i = 0; i < 200; ++i) batch += "," + discover;
    batch += "]";
    const auto flood = [&] {
        for (int i = 0; i < 50; ++i) ws.write(batch);
    };
    EXPECT_ANY_THROW({
        flood();
        for (;;) ws.read();
    });
    EXPECT_GE(served.server->stats().refused, 1U);
    Client other(served.port);
    EXPECT_EQ(other.post(kChainId).result_int(), 200U);
}

TEST(RpcWebSocket, MessagesOverTheLimitEndTheConnection) {
    Served served;
    WsClient ws(served.port);
    EXPECT_ANY_THROW({
        ws.write(std::string(6'000'000, ' '));
        ws.read();
    });
}

TEST(RpcServer, StopsWithOpenConnections) {
    Served served;
    Client idle(served.port);
    WsClient ws(served.port);
    ws.call("eth_subscribe", {"newHeads"});
    served.server->stop();
    served.server->stop();
    served.world.mine();
}

}  // namespace
}  // namespace retrace::node::test
