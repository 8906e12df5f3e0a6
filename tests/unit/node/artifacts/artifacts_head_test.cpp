// SPDX-License-Identifier: MIT
// Heads of requests to the artifact port of solvers and verifiers, like functional/rpc/http_test.cpp for a node's.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "node/artifacts/http_server.hpp"
#include "node/net/http_client.hpp"
#include "node/net/http_head.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

struct ArtifactHead : ::testing::Test {
    test::TemporaryFolder folder;
    std::unique_ptr<Store> store = test::open_store(folder.path());
    ArtifactServer server{*store, [](const Hash32&) { return false; }};
    std::unique_ptr<ArtifactHttpServer> http;
    const std::string target = "/artifact/" + std::string(64, '0') + "/info";

    void start(const std::vector<std::string>& hosts, bool any_page = true) {
        ArtifactHttpServer::Options options;
        options.hosts = hosts_of("127.0.0.1", hosts);
        options.any_page = any_page;
        http = *ArtifactHttpServer::start(server, options);
    }
    /// Returns everything received until the server ends the connection or is silent for a second.
    std::string answer(const std::string& bytes) const {
        const int one = ::socket(AF_INET, SOCK_STREAM, 0);
        const timeval limit{1, 0};
        ::setsockopt(one, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(http->port());
        EXPECT_EQ(::connect(one, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::send(one, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
        std::string out;
        char chunk[4096];
        for (ssize_t got = 0; (got = ::recv(one, chunk, sizeof chunk, 0)) > 0;)
            out.append(chunk, static_cast<std::size_t>(got));
        ::close(one);
        return out;
    }
    static std::size_t answers_in(const std::string& text) {
        std::size_t count = 0;
        for (std::size_t at = 0; (at = text.find("HTTP/1.1 ", at)) != std::string::npos; ++at) ++count;
        return count;
    }
    std::string get(const std::string& hosts) const {
        return answer("GET " + target + " HTTP/1.1\r\n" + hosts + "Connection: close\r\n\r\n");
    }
};

TEST_F(ArtifactHead, APortInUseIsNamedWithARemedy) {
    start({});
    ArtifactHttpServer::Options same;
    same.port = http->port();
    const auto second = ArtifactHttpServer::start(server, same);
    ASSERT_FALSE(second);
    const std::string port = std::to_string(http->port());
    for (const std::string& part : {"127.0.0.1:" + port + ": Address already in use", std::string("`ss -ltnp`"),
                                    std::string("another one with --port")})
        EXPECT_NE(second.error().message.find(part), std::string::npos) << second.error().message;
}

TEST_F(ArtifactHead, ATransferEncodingIsExactlyChunked) {
    start({});
    const std::string second = "GET " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    for (const char* coding : {"xchunked", "chunked, identity", "identity"}) {
        const std::string got =
            answer("PUT " + target + " HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: " + std::string(coding) +
                   "\r\n\r\n" + second);
        EXPECT_TRUE(got.starts_with("HTTP/1.1 400 ")) << got;
        EXPECT_EQ(answers_in(got), 1u) << coding << ": what follows is no request of anybody";
    }
}

TEST_F(ArtifactHead, NamesOneHostThatIsListed) {
    start({"proxy.example"});
    for (const char* host : {"127.0.0.1", "localhost:1", "proxy.example"})
        EXPECT_TRUE(get("Host: " + std::string(host) + "\r\n").starts_with("HTTP/1.1 404 ")) << host;
    EXPECT_TRUE(get("Host: evil.example\r\n").starts_with("HTTP/1.1 403 "));
    EXPECT_TRUE(get("").starts_with("HTTP/1.1 400 "));
    EXPECT_TRUE(get("Host: localhost\r\nHost: localhost\r\n").starts_with("HTTP/1.1 400 "));
    HttpConnection client(*parse_url(http->url()));
    const auto reply =
        client.exchange({"GET", target, {}}, 1 << 20, kernels::StopToken::after(std::chrono::milliseconds(3000)));
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->status, 404u) << "our own client names it as it is called";
}

std::string allowed_of(const std::string& reply) {
    const std::string name = "Access-Control-Allow-Origin: ";
    const auto at = reply.find(name);
    return at == std::string::npos ? "" : reply.substr(at + name.size(), reply.find('\r', at) - at - name.size());
}

TEST_F(ArtifactHead, PagesOfAllOriginsReadArtifactsOnly) {
    start({});
    EXPECT_EQ(allowed_of(get("Host: localhost\r\nOrigin: https://a.example\r\n")), "*");
    EXPECT_EQ(allowed_of(answer("GET /other HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")), "");
}

TEST_F(ArtifactHead, WhereOthersDoNotComeOnlyPagesOfThisMachineRead) {
    start({}, false);
    const auto allowed = [&](const std::string& origin) {
        return allowed_of(get("Host: localhost\r\nOrigin: " + origin + "\r\n"));
    };
    for (const char* own : {"http://127.0.0.1:8545", "https://localhost", "http://localhost:3000"})
        EXPECT_EQ(allowed(own), own);
    for (const char* other : {"https://a.example", "null", "http://localhost.a.example", "http://127.a.example"})
        EXPECT_EQ(allowed(other), "") << other;
    EXPECT_EQ(allowed_of(get("Host: localhost\r\n")), "");
}

TEST_F(ArtifactHead, NoPageAsksWhosePortItIs) {
    server.answer_party([](std::string_view) { return std::string("an answer"); });
    start({});
    for (const std::string path : {"/party/", "/reach/"}) {
        const auto ask = [&](const std::string& more) {
            return answer("GET " + path + std::string(64, '0') + " HTTP/1.1\r\nHost: localhost\r\n" + more +
                          "Connection: close\r\n\r\n");
        };
        for (const char* agent : {"", "Sec-Fetch-Site: none\r\n"}) {
            const std::string reply = ask(agent);
            EXPECT_TRUE(reply.starts_with("HTTP/1.1 200 ")) << reply;
            EXPECT_EQ(allowed_of(reply), "");
        }
        for (const char* page : {"Origin: https://a.example\r\n", "Origin: null\r\n", "Sec-Fetch-Site: cross-site\r\n",
                                 "Sec-Fetch-Site: same-site\r\n"})
            EXPECT_TRUE(ask(page).starts_with("HTTP/1.1 403 ")) << path << page;
    }
}

}  // namespace
}  // namespace retrace::node
