// SPDX-License-Identifier: MIT
// Messages of several authors over real sockets at the same time.
#include "node/artifacts/message_downloads.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "node/artifacts/http_server.hpp"
#include "solver/artifacts/packed_tensor.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kAuthors = MessageDownloads::kTransfersMax, kSilent = kAuthors;

/// Counts the requests that servers hold, and lets them go.
class Gate {
public:
    /// Called by a server: waits until the gate is open, or for ten seconds.
    void hold() {
        std::unique_lock lock(mutex_);
        most_ = std::max(most_, ++held_);
        if (held_ == opens_at_) open_ = true;
        changed_.notify_all();
        changed_.wait_for(lock, seconds(10), [&] { return open_; });
        --held_;
    }
    void open() {
        const std::lock_guard lock(mutex_);
        open_ = true;
        changed_.notify_all();
    }
    void close(std::size_t opens_at) {
        const std::lock_guard lock(mutex_);
        open_ = false, opens_at_ = opens_at, most_ = 0;
    }
    std::size_t most() {
        const std::lock_guard lock(mutex_);
        return most_;
    }

private:
    std::mutex mutex_;  // guards the members below
    std::condition_variable changed_;
    bool open_ = true;
    std::size_t held_ = 0, opens_at_ = 0, most_ = 0;
};

struct MessageDownloadsTest : ::testing::Test {
    struct Author {
        std::unique_ptr<Store> store;
        std::unique_ptr<solver::MessageStore> messages;
        std::unique_ptr<ArtifactServer> server;
        std::unique_ptr<ArtifactHttpServer> http;
        Hash32 root;
    };
    test::TemporaryFolder folder;
    kernels::ThreadPool pool{1};
    Gate gate;
    bool stopped = false;
    std::atomic<std::size_t> asked = 0;         ///< Authors, so far.
    std::vector<Author> authors{kAuthors + 1};  ///< The last one is of no message, and nothing was held against it.
    std::vector<bool> held = std::vector<bool>(kAuthors + 1, false);  ///< Whether an author's replies pass the gate.
    std::unique_ptr<Store> here = test::open_store(folder.path() / "here");
    MessageDownloads downloads{*here, options()};
    std::vector<std::size_t> accepted;

    ArtifactClient::Options options() {
        return {milliseconds(1500), 1, milliseconds(1), 1 << 20, milliseconds(1500), [this] { return stopped; }};
    }
    MessageDownloadsTest() {
        for (std::size_t i = 0; i <= kSilent; ++i) {
            Author& author = authors[i];
            const auto place = folder.path() / std::to_string(i);
            author.store = test::open_store(place / "store");
            author.messages = std::move(solver::MessageStore::open(place / "messages")).value();
            author.server = std::make_unique<ArtifactServer>(*author.store, [](const Hash32&) { return false; });
            author.server->add_messages(*author.messages);
            author.server->tamper_with_answers([this, i](const HttpRequest&, HttpReply&) {
                ++asked;
                if (held[i]) gate.hold();
            });
            const kernels::Tensor tensor = test::random_tensor(kernels::DType::f32, {20, 32}, i);
            author.root = kernels::tensor_root(tensor, pool);
            EXPECT_TRUE(author.messages->save({7, 1, static_cast<std::uint32_t>(i)}, {author.root}, {tensor}));
            author.http = *ArtifactHttpServer::start(*author.server, {});
        }
    }
    ~MessageDownloadsTest() override { gate.open(); }

    /// The message of `author`, asked for at `peer`.
    MessageDownloads::Download of(std::uint32_t author, std::size_t peer, std::uint64_t bytes_max = 1 << 20) const {
        const auto accept = [](View, kernels::ThreadPool&) -> Status<Failure> { return Unit{}; };
        return {author, {authors[peer].http->url()}, {{{authors[peer].root}, bytes_max, accept}}, {}};
    }
    std::vector<MessageDownloads::Download> all(std::uint64_t bytes_max = 1 << 20) const {
        std::vector<MessageDownloads::Download> out;
        for (std::uint32_t i = 0; i < kAuthors; ++i) out.push_back(of(i, i, bytes_max));
        return out;
    }
    void fetch(const std::vector<MessageDownloads::Download>& wanted) {
        accepted.clear();
        downloads.fetch(wanted, [this](std::size_t place) {
            accepted.push_back(place);
            if (accepted.size() + 1 == kAuthors) gate.open();
        });
    }
};

TEST_F(MessageDownloadsTest, ComeFromAllAuthorsAtTheSameTime) {
    held.assign(kAuthors + 1, true);
    gate.close(kAuthors);
    fetch(all());
    EXPECT_EQ(accepted.size(), kAuthors) << "each author answers when all have been asked";
    EXPECT_EQ(gate.most(), kAuthors);
}

TEST_F(MessageDownloadsTest, AnAuthorThatKeepsOneWaitingDelaysNoOther) {
    held[0] = true;
    gate.close(0);
    fetch(all());
    ASSERT_EQ(accepted.size(), kAuthors);
    EXPECT_EQ(accepted.back(), 0u) << "it answers once the others have arrived";
}

TEST_F(MessageDownloadsTest, MessagesThatMayBeLongComeOneAfterAnother) {
    held.assign(kAuthors + 1, true);
    gate.close(1);
    fetch(all(MessageDownloads::kBytesMax));
    EXPECT_EQ(accepted.size(), kAuthors);
    EXPECT_EQ(gate.most(), 1u);
}

TEST_F(MessageDownloadsTest, MessagesThatTheCallerHasNotTakenCountAsWell) {
    std::size_t most = 0;
    downloads.fetch(all(MessageDownloads::kBytesMax / 2), [&](std::size_t place) {
        accepted.push_back(place);
        std::this_thread::sleep_for(milliseconds(50));  // Hashes and saves it.
        most = std::max(most, asked - (accepted.size() - 1));
    });
    EXPECT_EQ(accepted.size(), kAuthors);
    EXPECT_LE(most, 2u) << "this one, and one in transfer or waiting for the caller";
}

TEST_F(MessageDownloadsTest, ACallerThatFailsEndsAllTransfers) {
    const auto fail = [](std::size_t) { throw std::runtime_error("no memory"); };
    EXPECT_THROW(downloads.fetch(all(MessageDownloads::kBytesMax), fail), std::runtime_error);
    fetch(all());
    EXPECT_EQ(accepted.size(), kAuthors);
}

TEST_F(MessageDownloadsTest, WhatCameOfAMessageIsDroppedWhenItsRestDoesNot) {
    MessageDownloads::Download one = of(0, 0);
    one.parts.push_back(of(0, 1).parts[0]);  // Which that author does not have.
    bool dropped = false;
    one.drop = [&] { dropped = true; };
    fetch({one});
    EXPECT_TRUE(accepted.empty());
    EXPECT_TRUE(dropped);
    one.parts.pop_back();
    dropped = false;
    fetch({one});
    EXPECT_EQ(accepted.size(), 1u);
    EXPECT_FALSE(dropped);
}

TEST_F(MessageDownloadsTest, AStopEndsAllTransfers) {
    held.assign(kAuthors + 1, true);
    held[3] = false;
    gate.close(0);
    const auto begin = std::chrono::steady_clock::now();
    downloads.fetch(all(), [this](std::size_t place) {
        accepted.push_back(place);
        stopped = true;
    });
    EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(1400)) << "not after their time, 1500 ms";
    EXPECT_EQ(accepted, std::vector<std::size_t>{3});
    stopped = false;
    gate.open();
    held.assign(kAuthors + 1, false);
    fetch(all());
    EXPECT_EQ(accepted.size(), kAuthors) << "a stop blames no author";
}

TEST_F(MessageDownloadsTest, FewerComeAtATimeAfterManyTookTooLong) {
    held.assign(kAuthors + 1, true);
    gate.close(0);
    auto silent = all();
    for (MessageDownloads::Download& download : silent) download.peers = {authors[kSilent].http->url()};
    fetch(silent);
    EXPECT_TRUE(accepted.empty());
    gate.open();
    authors[kSilent].http.reset();  // with the requests that still wait there
    for (const std::size_t at_once : {kAuthors / 2, kAuthors}) {
        gate.close(at_once);
        fetch(all());
        EXPECT_EQ(accepted.size(), kAuthors);
        EXPECT_EQ(gate.most(), at_once) << "doubled after each time when few took too long";
    }
}

TEST_F(MessageDownloadsTest, HalfOfAGroupThatIsSilentHasTheOthersFetchedAtTheSameTime) {
    held[kSilent] = true;
    gate.close(0);
    auto half = all();
    for (std::uint32_t i = 0; i < kAuthors / 2; ++i) half[i] = of(i, kSilent);
    for (int round = 0; round < 4; ++round) {
        fetch(half);
        EXPECT_EQ(accepted.size(), kAuthors / 2);
    }
    gate.open();
    authors[kSilent].http.reset();
    held.assign(kAuthors + 1, true);
    gate.close(kAuthors);
    fetch(all());
    EXPECT_EQ(accepted.size(), kAuthors);
    EXPECT_EQ(gate.most(), kAuthors);
}

TEST_F(MessageDownloadsTest, WhoKeptUsWaitingComesAfterAllOthersOfItsTransfer) {
    held[0] = true;
    gate.close(0);
    const std::vector<MessageDownloads::Download> both{of(0, 0), of(kAuthors, 1)};  // Of one transfer.
    fetch(both);
    EXPECT_EQ(accepted, std::vector<std::size_t>{1});
    gate.open();
    fetch(both);
    EXPECT_EQ(accepted, (std::vector<std::size_t>{1, 0}));
    fetch(both);
    EXPECT_EQ(accepted, (std::vector<std::size_t>{0, 1})) << "it was in time";
}

}  // namespace
}  // namespace retrace::node
