// SPDX-License-Identifier: MIT
// States are sent behind messages of rounds, and messages cannot hold them for ever.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "node/artifacts/client.hpp"
#include "node/artifacts/http_server.hpp"
#include "node/artifacts/uplink.hpp"
#include "solver/artifacts/packed_tensor.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
const Uplink::Time kStart{std::chrono::hours(1)};

constexpr std::uint64_t kMessage = 4 << 20;

TEST(UplinkTest, HoldsBulkRepliesWhileAMessageIsSentAndAMomentAfterIt) {
    Uplink uplink;
    EXPECT_FALSE(uplink.holds_bulk(kStart));
    uplink.begin_message(kStart);
    uplink.begin_message(kStart);
    EXPECT_TRUE(uplink.holds_bulk(kStart + milliseconds(20)));
    uplink.end_message(kStart + milliseconds(30), kMessage);
    EXPECT_TRUE(uplink.holds_bulk(kStart + milliseconds(40))) << "the other one is still sent";
    const auto end = kStart + milliseconds(50);
    uplink.end_message(end, kMessage);
    EXPECT_TRUE(uplink.holds_bulk(end + Uplink::kAfterMax - milliseconds(1)));
    EXPECT_FALSE(uplink.holds_bulk(end + Uplink::kAfterMax));
}

TEST(UplinkTest, WhoAsksForLittleHoldsBulkRepliesForLittle) {
    Uplink uplink;
    const auto message = [&](std::uint64_t bytes) {
        uplink.begin_message(kStart);
        uplink.end_message(kStart, bytes);
    };
    message(200);
    EXPECT_FALSE(uplink.holds_bulk(kStart));
    message(Uplink::kAfterRate / 10);
    EXPECT_TRUE(uplink.holds_bulk(kStart + milliseconds(98)));
    message(1);
    EXPECT_TRUE(uplink.holds_bulk(kStart + milliseconds(98))) << "a small one ends no hold";
    EXPECT_FALSE(uplink.holds_bulk(kStart + milliseconds(100)));
}

TEST(UplinkTest, AMessageThatNeverEndsHoldsBulkRepliesForAMoment) {
    Uplink uplink;
    uplink.begin_message(kStart);
    EXPECT_TRUE(uplink.holds_bulk(kStart + Uplink::kHoldMax - milliseconds(1)));
    EXPECT_FALSE(uplink.holds_bulk(kStart + Uplink::kHoldMax));
    EXPECT_FALSE(uplink.holds_bulk(kStart + 60 * Uplink::kHoldMax)) << "nothing is won by waiting";
    uplink.end_message(kStart + 60 * Uplink::kHoldMax, kMessage);
    EXPECT_FALSE(uplink.holds_bulk(kStart + 60 * Uplink::kHoldMax));
}

TEST(UplinkTest, RequestsWithoutEndHoldBulkRepliesForHalfOfTheTimeAtMost) {
    // A message each second, and the time for which it is sent. With the moment after it that is more than half of the
    // time from `sent` = 1 ms on, so less grows back than half of the time; from 500 ms on nothing does.
    struct Case {
        milliseconds sent, least, most;
    };
    for (const auto& [sent, least, most] :
         {Case{milliseconds(1), milliseconds(49'000), milliseconds(50'000) + Uplink::kHoldMax},
          Case{milliseconds(100), milliseconds(39'000), milliseconds(40'100) + Uplink::kHoldMax},
          Case{milliseconds(500), Uplink::kHoldMax - milliseconds(10), Uplink::kHoldMax + milliseconds(100)}}) {
        Uplink uplink;
        milliseconds held{0};
        for (milliseconds now{0}; now < seconds(100); ++now) {
            const auto of_second = now % seconds(1);
            if (of_second == milliseconds(0)) uplink.begin_message(kStart + now);
            if (of_second == sent) uplink.end_message(kStart + now, kMessage);
            held += milliseconds(uplink.holds_bulk(kStart + now));
        }
        EXPECT_LE(held, most) << sent.count();
        EXPECT_GE(held, least) << sent.count();
    }
}

TEST(UplinkTest, AReplyYieldsToAQueueOnlyAboveTwiceTheDrainRate) {
    constexpr std::uint64_t rate = 16 << 10;
    EXPECT_FALSE(may_yield(0, milliseconds(1), rate));
    EXPECT_TRUE(may_yield(kBulkChunk, milliseconds(250), rate));
    EXPECT_FALSE(may_yield(kBulkChunk, milliseconds(251), rate));
    EXPECT_FALSE(may_yield(2 * rate * 60, milliseconds(60'001), rate));
}

TEST(UplinkTest, KnowsRepliesByTheirTargets) {
    const std::string root = "/artifact/" + std::string(64, 'a');
    EXPECT_EQ(reply_kind(root + "/packed?at=0&count=9"), ReplyKind::message);
    for (const char* bulk : {"/tiles?first=0&count=1", "/leaves?first=0&count=1", "/program?at=0&count=1"})
        EXPECT_EQ(reply_kind(root + bulk), ReplyKind::bulk) << bulk;
    for (const std::string& small : {root + "/info", root + "/state", root, std::string("/artifact/packed?"),
                                     std::string("/reach/00"), std::string()})
        EXPECT_EQ(reply_kind(small), ReplyKind::small) << small;
}

/// A member's state and message behind one server.
struct UplinkServer : ::testing::Test {
    test::TemporaryFolder folder;
    std::unique_ptr<Store> store = test::open_store(folder.path() / "store");
    std::unique_ptr<Store> here = test::open_store(folder.path() / "here");
    std::unique_ptr<solver::MessageStore> messages =
        std::move(solver::MessageStore::open(folder.path() / "messages")).value();
    ArtifactServer server{*store, [](const Hash32&) { return false; }};
    const kernels::Tensor state = test::random_tensor(kernels::DType::f32, {1024, 1024}, 1);
    const kernels::Tensor message = test::random_tensor(kernels::DType::f32, {1024, 1024}, 2);
    const Hash32 state_root = *store->put_tensor(state);
    const Hash32 message_root = test::root_of(message);
    std::unique_ptr<ArtifactHttpServer> http;
    int socket = -1;

    void start(const ArtifactHttpServer::Options& options) {
        ASSERT_TRUE(messages->save({7, 1, 2}, {message_root}, {message}).has_value());
        server.add_messages(*messages);
        http = *ArtifactHttpServer::start(server, options);
    }
    ~UplinkServer() override {
        if (socket >= 0) ::close(socket);
    }
    /// Asks for all of the message's tensor and reads nothing of it.
    void ask_for_message() {
        socket = ::socket(AF_INET, SOCK_STREAM, 0);
        const int window = 64 << 10;
        ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &window, sizeof window);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        address.sin_port = htons(http->port());
        ASSERT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
        const std::string text =
            "GET /artifact/" + to_hex(view(message_root)) + "/packed?at=0&count=4194304 HTTP/1.1\r\nHost: a\r\n\r\n";
        ::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
        char first = 0;
        ASSERT_EQ(::recv(socket, &first, 1, 0), 1);
    }
    /// Reads the reply at some 3 MiB each second.
    void read_message() {
        std::string piece(16 << 10, '\0');
        for (std::size_t came = 1; came < message.data.size();) {
            const ssize_t got = ::recv(socket, piece.data(), piece.size(), 0);
            ASSERT_GT(got, 0);
            came += static_cast<std::size_t>(got);
            std::this_thread::sleep_for(milliseconds(5));
        }
    }
};

TEST_F(UplinkServer, AStateWaitsUntilTheMessageIsSentAndLosesNoTimeByIt) {
    ArtifactHttpServer::Options options;
    options.drain_grace = milliseconds(300);
    start(options);
    ask_for_message();
    Status<Failure> fetched = Unit{};
    ArtifactClient::Options once;
    once.rounds = 1;
    ArtifactClient client(*here, once);
    std::thread auditor([&] { fetched = client.fetch_tensor({http->url()}, state_root); });
    std::this_thread::sleep_for(milliseconds(200));
    EXPECT_EQ(client.tiles_fetched(), 0u);
    read_message();
    auditor.join();
    ASSERT_TRUE(fetched.has_value()) << fetched.error().message;
    EXPECT_EQ(*here->tensor(state_root), state);
}

TEST_F(UplinkServer, AMessageThatNobodyReadsIsDroppedAndHoldsNoStateAnyMore) {
    ArtifactHttpServer::Options options;
    options.drain_grace = milliseconds(500);
    start(options);
    ask_for_message();
    const auto begin = std::chrono::steady_clock::now();
    ArtifactClient client(*here);
    ASSERT_TRUE(client.fetch_tensor({http->url()}, state_root).has_value());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(5));
}

}  // namespace
}  // namespace retrace::node
