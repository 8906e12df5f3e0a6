// SPDX-License-Identifier: MIT
// Idle connections do not keep others from the artifacts.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "node/artifacts/http_server.hpp"
#include "node/net/http_client.hpp"
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
    /// Opens a connection and sends an incomplete head.
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
        const auto reply =
            connection.exchange({"GET", path, {}}, 1 << 20, kernels::StopToken::after(milliseconds(3000)));
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

/// For example a tensor that must be decrypted and hashed for each of its tiles.
TEST_F(Crowd, WhatCostsMuchForOneAddressKeepsNoOtherWaiting) {
    const std::string dear(64, '1'), cheap(64, '0');
    std::atomic<bool> over{false};
    std::atomic<int> at_once{0}, most{0}, answered{0};
    server.tamper_with_answers([&](const HttpRequest& request, HttpReply&) {
        if (request.target.find(dear) == std::string::npos) return;
        most = std::max<int>(most, ++at_once);
        for (int i = 0; i < 500 && !over; ++i) std::this_thread::sleep_for(milliseconds(10));
        --at_once;
        ++answered;
    });
    start({});
    const auto request = [&](const char* from, const std::string& root) {
        const int one = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        ::inet_pton(AF_INET, from, &address.sin_addr);
        EXPECT_EQ(::bind(one, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(http->port());
        EXPECT_EQ(::connect(one, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        const timeval timeout{3, 0};
        ::setsockopt(one, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
        const std::string text = "GET /artifact/" + root + "/info HTTP/1.1\r\nHost: a\r\n\r\n";
        EXPECT_EQ(::send(one, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
        sockets.push_back(one);
        return one;
    };
    std::vector<int> crowd;
    for (int i = 0; i < 16; ++i) crowd.push_back(request("127.0.0.1", dear));
    std::this_thread::sleep_for(milliseconds(300));
    char reply[12] = {};
    EXPECT_EQ(::recv(request("127.0.0.2", cheap), reply, sizeof reply, 0), 12) << "another address waits for them all";
    EXPECT_EQ(std::string(reply, 12), "HTTP/1.1 404");
    over = true;
    for (const int one : crowd) EXPECT_EQ(::recv(one, reply, sizeof reply, 0), 12) << "each gets its turn";
    EXPECT_EQ(most, 1);
    EXPECT_EQ(answered, 16);
}

TEST_F(Crowd, ARequestThatMemoryEndsIsOneRequest) {
    bool fails = true;
    server.tamper_with_answers([&](const HttpRequest&, HttpReply&) {
        if (fails) throw std::bad_alloc();
    });
    start({});
    HttpConnection one(*parse_url(http->url()));
    EXPECT_EQ(ask(one), 500u);
    fails = false;
    EXPECT_EQ(ask(one), 404u) << "the next of the same address has its turn";
}

TEST_F(Crowd, AServerThatEndsAnswersNobodyWhoseTurnHasNotCome) {
    std::atomic<bool> over{false};
    std::atomic<int> handled{0}, answered{0};
    server.tamper_with_answers([&](const HttpRequest&, HttpReply&) {
        ++handled;
        while (!over) std::this_thread::sleep_for(milliseconds(5));
    });
    start({});
    const Url url = *parse_url(http->url());
    std::vector<std::thread> waiting;
    for (int i = 0; i < 3; ++i) {
        waiting.emplace_back([&] {
            HttpConnection one(url);
            if (ask(one) != 0) ++answered;
        });
    }
    std::this_thread::sleep_for(milliseconds(300));
    std::thread later([&] {
        std::this_thread::sleep_for(milliseconds(100));
        over = true;
    });
    const auto begin = std::chrono::steady_clock::now();
    http.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(2000)) << "it waits for one";
    later.join();
    for (std::thread& one : waiting) one.join();
    EXPECT_EQ(handled, 1) << "the others' turn has not come";
    EXPECT_LE(answered, 1);
}

}  // namespace
}  // namespace retrace::node
