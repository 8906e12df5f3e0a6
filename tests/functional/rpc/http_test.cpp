// SPDX-License-Identifier: MIT
// The head of a request must state each fact once and exactly: its length, host, path and origin.
#include "node/net/http_head.hpp"
#include "tests/functional/rpc/node_process.hpp"
#include "tests/functional/rpc/served.hpp"

namespace retrace::node::test {
namespace {

const std::string kHead = "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";

/// Returns the status of the first answer to these bytes; if `ends`, the connection must be closed after it.
unsigned status_of_bytes(const Served& served, const std::string& bytes, bool ends = true) {
    Client client(served.port);
    client.write(bytes);
    const unsigned status = client.read().result_int();
    if (ends) {
        EXPECT_TRUE(client.closed()) << bytes;
    }
    return status;
}

// A server that reads the length in another way than the proxy in front of it takes one request for two.
TEST(RpcHttp, ATransferEncodingIsExactlyChunked) {
    Served served;
    char size[8];
    std::snprintf(size, sizeof size, "%zx", kChainId.size());
    const std::string body = std::string(size) + "\r\n" + kChainId + "\r\n0\r\n\r\n";
    EXPECT_EQ(status_of_bytes(served, kHead + "Transfer-Encoding: chunked\r\n\r\n" + body, false), 200U);
    EXPECT_EQ(status_of_bytes(served, kHead + "Transfer-Encoding: Chunked\r\n\r\n" + body, false), 200U)
        << "names of codings have no case";
    for (const std::string other :
         {"xchunked", "chunked, identity", "identity", "gzip, chunked", "chunked, chunked", "chunked;q=1",
          "\"chunked\"", "", "chunked\r\nTransfer-Encoding: chunked", "identity\r\nTransfer-Encoding: chunked"}) {
        const std::string head = kHead + "Transfer-Encoding: " + other + "\r\n\r\n";
        EXPECT_EQ(status_of_bytes(served, head + "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n"), 400U) << other;
    }
    const std::string length = "Content-Length: " + std::to_string(body.size()) + "\r\n";
    for (const std::string& both :
         {length + "Transfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\n" + length,
          length + "Transfer-Encoding: xchunked\r\n"})
        EXPECT_EQ(status_of_bytes(served, kHead + both + "\r\n" + body), 400U) << both;
    EXPECT_EQ(status_of_bytes(served,
                              "POST / HTTP/1.0\r\nContent-Type: application/json\r\n"
                              "Transfer-Encoding: chunked\r\n\r\n" +
                                  body),
              400U);
}

TEST(RpcHttp, ARequestNamesOneHost) {
    Served served;
    const auto with = [&](const std::string& hosts, bool ends, const std::string& version = "1.1") {
        return status_of_bytes(served, "GET /hello HTTP/" + version + "\r\n" + hosts + "\r\n", ends);
    };
    EXPECT_EQ(with("Host: x\r\n", false), 200U);
    EXPECT_EQ(with("", true), 400U);
    EXPECT_EQ(with("Host: x\r\nHost: y\r\n", true), 400U);
    EXPECT_EQ(with("Host: x\r\nHost: x\r\n", true, "1.0"), 400U);
    EXPECT_EQ(with("Host: a, b\r\n", true), 400U);
    EXPECT_EQ(with("Host: a:b\r\n", true), 400U);
    EXPECT_EQ(status_of_bytes(served, "GET http://other/hello HTTP/1.1\r\nHost: x\r\n\r\n"), 400U)
        << "which is another host than the field says";
}

// DNS rebinding: a page points its own name at 127.0.0.1, so that only the name distinguishes it from the node.
TEST(RpcHttp, WhoComesByAnotherNameIsRefused) {
    rpc::ServerOptions options;
    options.hosts = hosts_of("127.0.0.1", {"Node.example"});
    Served served(options);
    const std::string port = ":" + std::to_string(served.port);
    const auto get = [&](const std::string& host) {
        Client client(served.port);
        client.write("GET /hello HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
        return client.read();
    };
    for (const std::string& host : {"localhost" + port, std::string("LOCALHOST"), "127.0.0.1" + port, "[::1]" + port,
                                    std::string("node.example"), "NODE.example" + port})
        EXPECT_EQ(get(host).result_int(), 200U) << host;
    for (const std::string& host : {"evil.example" + port, std::string("localhost.evil.example"), std::string(""),
                                    std::string("127.0.0.1.evil.example"), std::string("10.0.0.1")}) {
        const auto refused = get(host);
        EXPECT_EQ(refused.result_int(), 403U) << host;
        EXPECT_THAT(refused.body(), HasSubstr("--rpc-allow-host")) << host;
    }
    const std::string upgrade =
        "GET / HTTP/1.1\r\nHost: evil.example\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    EXPECT_EQ(status_of_bytes(served, upgrade), 403U);
    // A page served by the port itself, for instance behind a proxy, has the same origin.
    Client own(served.port);
    own.write(
        "POST / HTTP/1.1\r\nHost: node.example\r\nOrigin: https://node.example\r\n"
        "Content-Type: application/json\r\nContent-Length: " +
        std::to_string(kChainId.size()) + "\r\n\r\n" + kChainId);
    EXPECT_EQ(own.read().result_int(), 200U);
}

TEST(RpcHttp, PathsAreExact) {
    Served served;
    Client client(served.port);
    EXPECT_EQ(client.request("GET /hello").result_int(), 200U);
    EXPECT_EQ(client.request("GET /hello?x=1").result_int(), 200U);
    EXPECT_EQ(client.request("GET /under/any/thing").result_int(), 200U);
    for (const char* path : {"/helloXYZ", "/hello/", "/hello/x", "/hell", "/under", "/other", "//", "/?/../hello/x"}) {
        const bool root = std::string(path).starts_with("/?");
        EXPECT_EQ(Client(served.port).request("GET " + std::string(path)).result_int(), root ? 405U : 404U) << path;
    }
    const std::string post = "POST /other HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: " +
                             std::to_string(kChainId.size()) + "\r\n\r\n" + kChainId;
    EXPECT_EQ(status_of_bytes(served, post), 404U);
    EXPECT_EQ(Client(served.port)
                  .request("GET /hello",
                           "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                           "Sec-WebSocket-Version: 13\r\n"
                           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")
                  .result_int(),
              404U);
}

TEST(RpcHttp, AWebSocketIsAskedAboutItsOriginAsAPostIs) {
    rpc::ServerOptions options;
    options.cors_origins = {"http://localhost:*", "https://wallet.example"};
    Served served(options);
    const auto upgrade = [&](const std::string& origin) {
        Client client(served.port);
        const auto reply = client.request("GET /",
                                          "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" +
                                              (origin.empty() ? "" : "Origin: " + origin + "\r\n"));
        return std::pair(reply.result_int(), reply.body());
    };
    const auto post = [&](const std::string& origin) {
        return Client(served.port)
            .post(kChainId, "application/json", origin.empty() ? "" : "Origin: " + origin + "\r\n")
            .result_int();
    };
    for (const std::string origin : {"", "http://localhost", "http://localhost:3000", "https://wallet.example",
                                     "chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn"}) {
        EXPECT_EQ(upgrade(origin).first, 101U) << origin;
        EXPECT_EQ(post(origin), 200U) << origin;
    }
    for (const std::string origin :
         {"https://evil.example", "null", "http://localhost.evil.example", "http://localhost:3000.evil.example",
          "https://localhost:3000", "https://wallet.example:1"}) {
        EXPECT_EQ(upgrade(origin).first, 403U) << origin;
        EXPECT_THAT(upgrade(origin).second, HasSubstr("--cors")) << origin;
        EXPECT_EQ(post(origin), 403U) << origin;
    }
}

unsigned status_of_post(const Served& served, const std::string& host, const std::string& origin) {
    Client client(served.port);
    client.write("POST / HTTP/1.1\r\nHost: " + host + "\r\nOrigin: " + origin +
                 "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(kChainId.size()) +
                 "\r\n\r\n" + kChainId);
    return client.read().result_int();
}

// On an address that others reach no names are listed, or "*". A page's own name proves nothing then, its own address
// does, unless each network has a machine of that address.
TEST(RpcHttp, APageOfThePortsOwnAddressMayPost) {
    for (const std::vector<std::string>& hosts : {std::vector<std::string>{}, std::vector<std::string>{"*"}}) {
        rpc::ServerOptions options;
        options.hosts = hosts;
        const Served served(options);
        const auto post = [&](const std::string& host, const std::string& origin) {
            return status_of_post(served, host, origin);
        };
        for (const char* own : {"192.0.2.7:8545", "[2001:db8::7]:8545", "127.0.0.1:8545", "[::1]:8545", "localhost"})
            EXPECT_EQ(post(own, std::string("http://") + own), 200U) << own;
        EXPECT_EQ(post("node.example:8545", "http://node.example:8545"), 403U) << "any page can call itself that";
        EXPECT_EQ(post("192.0.2.7:8545", "http://192.0.2.7:1"), 403U);
        EXPECT_EQ(post("192.0.2.7:8545", "http://192.0.2.8:8545"), 403U);
        EXPECT_EQ(post("192.0.2.7:8545", "https://192.0.2.7:8545"), 403U) << "this port has no TLS";
        EXPECT_EQ(post("192.0.2.7:8545", "ftp://192.0.2.7:8545"), 403U);
        EXPECT_EQ(post("192.0.2.7.evil.example", "http://192.0.2.7.evil.example"), 403U);
        for (const char* ambiguous : {"10.0.0.1", "100.64.0.1", "169.254.1.1", "172.31.0.1:8545", "192.168.1.5:8545",
                                      "[fe80::1]", "[fd00::1]:8545", "[::ffff:192.168.1.5]", "0.0.0.0"})
            EXPECT_EQ(post(ambiguous, std::string("http://") + ambiguous), 403U) << ambiguous;
    }
}

TEST(RpcHttp, APageOfAListedPrivateAddressMayPost) {
    rpc::ServerOptions options;
    options.hosts = {"*", "192.168.1.5"};
    const Served served(options);
    EXPECT_EQ(status_of_post(served, "192.168.1.5:8545", "http://192.168.1.5:8545"), 200U);
    EXPECT_EQ(status_of_post(served, "192.168.1.6:8545", "http://192.168.1.6:8545"), 403U);
}

TEST(RpcHttp, ThePageIsReadWhereJsonRpcIsPosted) {
    RpcWorld world;
    rpc::ServerOptions options;
    options.port = 0;
    rpc::Server server(options, *world.dispatcher);
    server.page([](const HttpRequest& request) {
        return HttpReply{200, "text/html", to_bytes(view(request.if_none_match)), {{"ETag", "\"1\""}}};
    });
    const auto port = server.bind();
    ASSERT_TRUE(port.has_value());
    server.serve();
    const auto page = Client(*port).request("GET /?x", "If-None-Match: \"0\"\r\n");
    EXPECT_EQ(page.result_int(), 200U);
    EXPECT_EQ(page.body(), "\"0\"");
    EXPECT_EQ(page["ETag"], "\"1\"");
    EXPECT_EQ(page["X-Content-Type-Options"], "nosniff");
    EXPECT_EQ(Client(*port).post(kChainId).result_int(), 200U);
    EXPECT_EQ(Client(*port).request("GET /other").result_int(), 404U);
    EXPECT_EQ(Client(*port).request("DELETE /").result_int(), 405U);
}

class DeveloperNode : public NodeProcess {
protected:
    unsigned get(const std::string& path, const std::string& host, const std::string& headers = "") const {
        Client client(static_cast<std::uint16_t>(std::stoul(port_)));
        client.write("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + headers + "\r\n");
        return client.read().result_int();
    }
};

TEST_F(DeveloperNode, TakesNothingFromPagesOfOtherMachines) {
    more_arguments_ = {"--rpc-allow-host", "node.example"};
    start_node();
    const std::string own = "127.0.0.1:" + port_;
    const auto upgrade = [&](const std::string& origin) {
        return get("/", own,
                   "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                   "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: " +
                       origin + "\r\n");
    };
    EXPECT_EQ(upgrade("https://evil.example"), 403U);
    EXPECT_EQ(upgrade("http://localhost:5173"), 101U);
    EXPECT_EQ(upgrade("http://" + own), 101U);
    EXPECT_EQ(get("/health", own), 200U);
    EXPECT_EQ(get("/health", "localhost"), 200U);
    EXPECT_EQ(get("/health", "node.example"), 200U);
    EXPECT_EQ(get("/health", "evil.example"), 403U);
    EXPECT_EQ(get("/metrics", own), 200U);
    EXPECT_EQ(get("/metricsXYZ", own), 404U);
}

}  // namespace
}  // namespace retrace::node::test
