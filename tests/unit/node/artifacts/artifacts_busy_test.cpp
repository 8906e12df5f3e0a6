// SPDX-License-Identifier: MIT
// Clients that keep their connections busy, because they do not read what they asked for, keep nobody else out.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "node/artifacts/http_server.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

using std::chrono::milliseconds;
constexpr std::size_t kReply = std::size_t{4} << 20;  ///< Bytes of a reply with all tiles, without its proof.

/// A client at one of the addresses 127.0.0.0/8, which count as different clients. Its receive buffer and the unsent
/// bytes that the server's kernel holds are a small part of a reply.
class Peer {
public:
    Peer(std::uint16_t port, const char* from, int window = 64 << 10) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
        const timeval timeout{3, 0};
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &window, sizeof window);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        ::inet_pton(AF_INET, from, &address.sin_addr);
        EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(port);
        EXPECT_EQ(::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
    ~Peer() { ::close(socket_); }
    Peer(const Peer&) = delete;

    void ask(const std::string& target) {
        const std::string text = "GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n";
        ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
    }
    /// Status of the reply; 0 if the connection is closed. Later bytes of the reply may be lost.
    int status() {
        char head[12] = {};
        if (::recv(socket_, head, sizeof head, MSG_WAITALL) != sizeof head) return 0;
        const std::string rest = receive();
        return std::stoi(std::string(head + 9, 3));
    }
    /// What is there now, at most `most` bytes; waits for the first.
    std::string receive(std::size_t most = 64 << 10) {
        std::string out(most, '\0');
        const ssize_t got = ::recv(socket_, out.data(), out.size(), 0);
        out.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return out;
    }
    /// Number of bytes that are received until the reply is whole or the connection ends, with pauses between reads.
    std::size_t drain(milliseconds pause = milliseconds(0), std::size_t most = 64 << 10) {
        std::size_t total = 0;
        while (total < kReply) {
            const std::size_t got = receive(most).size();
            if (got == 0) break;
            total += got;
            if (pause.count() > 0) std::this_thread::sleep_for(pause);
        }
        return total;
    }

private:
    int socket_;
};

struct Busy : ::testing::Test {
    test::TemporaryFolder folder;
    std::unique_ptr<Store> store = test::open_store(folder.path());
    ArtifactServer server{*store, [](const Hash32&) { return false; }};
    const Hash32 root = *store->put_tensor(test::random_tensor(kernels::DType::f32, {1024, 1024}, 1));
    const std::string tiles = "/artifact/" + to_hex(view(root)) + "/tiles?first=0&count=1024";
    const std::string info = "/artifact/" + to_hex(view(root)) + "/info";
    std::atomic<int> handled{0};  ///< Requests for tiles.
    std::unique_ptr<ArtifactHttpServer> http;
    std::vector<std::unique_ptr<Peer>> crowd;

    Busy() {
        server.tamper_with_answers([this](const HttpRequest& request, HttpReply&) {
            if (request.target == tiles) ++handled;
        });
    }
    void start(const ArtifactHttpServer::Options& options) { http = *ArtifactHttpServer::start(server, options); }
    Peer peer(const char* from) const { return {http->port(), from}; }
    bool comes(const std::function<bool()>& what) const {
        for (int i = 0; i < 3000 && !what(); ++i) std::this_thread::sleep_for(milliseconds(1));
        return what();
    }
    /// Connections that ask for all tiles, are answered in the order of `crowd` and read nothing.
    void leave_unread(const char* from, int count) {
        for (int i = 0; i < count; ++i) {
            const int before = handled;
            crowd.push_back(std::make_unique<Peer>(http->port(), from));
            crowd.back()->ask(tiles);
            // The server handles one request of an address at a time, so the next one is answered after this one.
            EXPECT_TRUE(comes([&] { return handled == before + 1; })) << "of " << from;
        }
    }
};

TEST_F(Busy, AServerFullOfUnreadRepliesLetsANewcomerIn) {
    ArtifactHttpServer::Options options;
    options.connections = 8;
    options.connections_per_address = 4;
    start(options);
    leave_unread("127.0.0.2", 4);
    leave_unread("127.0.0.3", 4);
    Peer honest = peer("127.0.0.9");
    honest.ask(tiles);
    EXPECT_GE(honest.drain(), kReply);
}

TEST_F(Busy, AnAddressWithOneConnectionKeepsItWhileAnotherHasTwo) {
    ArtifactHttpServer::Options options;
    options.connections = 6;
    start(options);
    Peer honest = peer("127.0.0.9");
    honest.ask(info);
    ASSERT_EQ(honest.status(), 200);
    leave_unread("127.0.0.2", 3);
    leave_unread("127.0.0.3", 2);
    for (const char* newcomer : {"127.0.0.4", "127.0.0.5", "127.0.0.6"}) {
        leave_unread(newcomer, 1);
        honest.ask(info);
        ASSERT_EQ(honest.status(), 200) << "after " << newcomer;
    }
}

TEST_F(Busy, WhoHoldsMostGetsNoPlaceOfOthers) {
    ArtifactHttpServer::Options options;
    options.connections = 4;
    start(options);
    leave_unread("127.0.0.2", 3);
    leave_unread("127.0.0.3", 1);
    Peer greedy = peer("127.0.0.2");
    greedy.ask(info);
    EXPECT_EQ(greedy.status(), 0);
    EXPECT_GE(crowd.back()->drain(), kReply);
}

TEST_F(Busy, WhoReadsNothingIsDroppedAfterTheGrace) {
    ArtifactHttpServer::Options options;
    options.drain_grace = milliseconds(200);
    start(options);
    Peer slow(http->port(), "127.0.0.2", 4096);
    slow.ask(tiles);
    std::this_thread::sleep_for(milliseconds(600));
    EXPECT_LT(slow.drain(), kReply / 4);
}

TEST_F(Busy, WhoReadsBelowTheDrainRateIsDropped) {
    ArtifactHttpServer::Options options;
    options.drain_grace = milliseconds(200);
    options.bulk_drain_rate = 2 << 20;
    start(options);
    Peer slow = peer("127.0.0.2");
    slow.ask(tiles);
    EXPECT_LT(slow.drain(milliseconds(20), 16 << 10), kReply) << "at 800 KiB each second";
}

TEST_F(Busy, WhoReadsALittleFasterThanTheDrainRateIsNotDroppedAtTheGrace) {
    ArtifactHttpServer::Options options;
    options.drain_grace = milliseconds(500);
    options.bulk_drain_rate = 160 << 10;
    start(options);
    Peer slow(http->port(), "127.0.0.2", 8 << 10);
    slow.ask("/artifact/" + to_hex(view(root)) + "/tiles?first=0&count=64");
    std::size_t total = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t got = 1; got != 0 && total < 256 << 10; total += got) {  // 200 KiB each second.
        got = slow.receive(4 << 10).size();
        std::this_thread::sleep_until(begin + milliseconds(1000 * total / (200 << 10)));
    }
    EXPECT_GE(total, 256u << 10);
}

TEST_F(Busy, WhoReadsAtTheDrainRateGetsItsReplyHoweverLongThatTakes) {
    ArtifactHttpServer::Options options;
    options.drain_grace = milliseconds(200);
    start(options);
    Peer honest = peer("127.0.0.2");
    honest.ask(tiles);
    EXPECT_GE(honest.drain(milliseconds(10)), kReply) << "at 6 MiB each second, for three times the grace";
}

TEST_F(Busy, AnAddressWaitsWhileItsOwnRepliesHoldMuch) {
    ArtifactHttpServer::Options options;
    options.reply_bytes_per_address = 1;
    start(options);
    leave_unread("127.0.0.2", 1);
    Peer second = peer("127.0.0.2"), other = peer("127.0.0.3");
    second.ask(tiles);
    std::this_thread::sleep_for(milliseconds(100));
    EXPECT_EQ(handled, 1);
    other.ask(tiles);
    EXPECT_GE(other.drain(), kReply) << "another address does not wait for it";
    EXPECT_GE(crowd[0]->drain(), kReply);
    EXPECT_GE(second.drain(), kReply) << "when the first has been read";
}

TEST_F(Busy, WhatAllRepliesHoldIsBoundedAtTheCostOfWhomHoldsMost) {
    ArtifactHttpServer::Options options;
    options.reply_bytes = 10 << 20;
    start(options);
    leave_unread("127.0.0.2", 2);
    Peer third = peer("127.0.0.2");
    third.ask(tiles);
    const std::string refused = third.receive();
    EXPECT_TRUE(refused.starts_with("HTTP/1.1 503 ")) << refused.substr(0, 40);
    EXPECT_NE(refused.find("busy"), std::string::npos);
    Peer honest = peer("127.0.0.3");
    honest.ask(tiles);
    EXPECT_GE(honest.drain(), kReply);
    EXPECT_LT(crowd[0]->drain(), kReply) << "the older one of the two";
    EXPECT_GE(crowd[1]->drain(), kReply);
}

TEST_F(Busy, AReplyThatIsGivenUpLetsTheNextOfItsAddressBeHandled) {
    ArtifactHttpServer::Options options;
    options.connections = 3;
    options.reply_bytes_per_address = 1;
    start(options);
    leave_unread("127.0.0.2", 1);
    Peer second = peer("127.0.0.2");
    second.ask(tiles);
    std::this_thread::sleep_for(milliseconds(100));  // An idle connection would give its place first.
    leave_unread("127.0.0.3", 1);
    Peer newcomer = peer("127.0.0.4");  // Takes the place of the first, which has been busy longest.
    EXPECT_GE(second.drain(), kReply);
    EXPECT_EQ(handled, 3);
}

}  // namespace
}  // namespace retrace::node
