// SPDX-License-Identifier: MIT
// Connections that ask for nothing keep nobody from the artifacts.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

#include "node/artifacts/http_client.hpp"
#include "node/artifacts/http_server.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

using std::chrono::milliseconds;

struct Crowd : ::testing::Test {
    test::TemporaryFolder folder;
    std::unique_ptr<Store> store = test::open_store(folder.path());
    ArtifactServer server{*store, [](const Hash32&) { return false; }};
    std::unique_ptr<ArtifactHttpServer> http;
    std::vector<int> sockets;

    void start(ArtifactHttpServer::Options options) { http = *ArtifactHttpServer::start(server, options); }
    ~Crowd() override {
        for (const int one : sockets) ::close(one);
    }
    /// Opens a connection and sends the beginning of a head.
    void linger() {
        const int one = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(http->port());
        ASSERT_EQ(::connect(one, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        ASSERT_EQ(::send(one, "GET / HT", 8, MSG_NOSIGNAL), 8);
        sockets.push_back(one);
    }
    unsigned ask(HttpConnection& connection) {
        const std::string path = "/artifact/" + std::string(64, '0') + "/info";
        const auto reply = connection.exchange({"GET", path, {}}, 1 << 20, milliseconds(3000));
        return reply ? reply->status : 0;
    }
};

TEST_F(Crowd, IdleConnectionsMakeRoomForNewcomers) {
    start({});
    for (int i = 0; i < 100; ++i) linger();
    HttpConnection honest(*parse_url(http->url()));
    EXPECT_EQ(ask(honest), 404u);
}

TEST_F(Crowd, WhoWaitedLongestLeavesFirst) {
    ArtifactHttpServer::Options options;
    options.connections_per_address = 4;
    start(options);
    linger();
    std::this_thread::sleep_for(milliseconds(100));
    for (int i = 0; i < 3; ++i) linger();
    std::this_thread::sleep_for(milliseconds(100));
    HttpConnection honest(*parse_url(http->url()));
    EXPECT_EQ(ask(honest), 404u);
    char byte = 0;
    EXPECT_EQ(::recv(sockets[0], &byte, 1, 0), 0) << "closed";
    EXPECT_EQ(::recv(sockets[1], &byte, 1, MSG_DONTWAIT), -1) << "still open";
}

TEST_F(Crowd, AFullServerMakesRoomToo) {
    ArtifactHttpServer::Options options;
    options.connections = 8;
    start(options);
    for (int i = 0; i < 20; ++i) linger();
    HttpConnection honest(*parse_url(http->url()));
    EXPECT_EQ(ask(honest), 404u);
}

}  // namespace
}  // namespace retrace::node
