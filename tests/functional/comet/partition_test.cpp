// SPDX-License-Identifier: MIT
// Validators between which the network is cut: a half decides nothing, three of four go on, and all are one chain when
// it is whole again.
#include <algorithm>
#include <ctime>

#include "tests/functional/comet/testnet_fixture.hpp"
#include "tests/netlab/namespaces.hpp"

namespace retrace::node {
namespace {

class Partition : public TestnetTest {
protected:
    void SetUp() override {
        require_comet();
        if (IsSkipped()) return;
        auto namespaces = Namespaces::enter(kNodes);
        if (!namespaces) GTEST_SKIP() << "SKIP: no network namespaces: " << namespaces.error().message;
        namespaces_.emplace(std::move(namespaces).value());
        make_network({});
        for (std::size_t i = 0; i < kNodes; ++i) replace_all(config_of(i), "127.0.0.", Namespaces::kPrefix);
        start_processes(namespaces_->write_program(folder_, RETRACE_PROGRAM));
        for (std::size_t i = 0; i < kNodes && !HasFatalFailure(); ++i) {
            const auto end = Clock::now() + 30s;
            while (peers(i) < 4 && Clock::now() < end) std::this_thread::sleep_for(100ms);
            ASSERT_EQ(peers(i), 4) << i;
        }
    }
    std::int64_t peers(std::size_t node) { return ask(node, "retrace_status").at("peers").to_number<std::int64_t>(); }

    /// Cuts, or joins again, every link between a node of one side and one of the other.
    void between(const std::vector<std::size_t>& left, const std::vector<std::size_t>& right,
                 Status<> (Namespaces::*change)(std::size_t, std::size_t)) {
        for (const std::size_t a : left) {
            for (const std::size_t b : right) {
                const auto done = ((*namespaces_).*change)(a, b);
                ASSERT_TRUE(done.has_value()) << done.error().message;
            }
        }
    }
    /// Seconds since the newest block of a node, as its status shows it.
    std::int64_t block_age_s(std::size_t node) {
        const json::value status = ask(node, "retrace_status");
        EXPECT_FALSE(status.at("halted").as_bool()) << "it waits for the others and can go on";
        return static_cast<std::int64_t>(std::time(nullptr)) - status.at("block_time").to_number<std::int64_t>();
    }
    ::testing::AssertionResult mined(std::size_t node, const Hash32& tx) {
        auto client = RpcClient::connect(network_->urls()[node]);
        const auto end = Clock::now() + 60s;
        while (Clock::now() < end) {
            const auto outcome = client->outcome(tx);
            if (outcome && *outcome && (*outcome)->ok) return ::testing::AssertionSuccess();
            std::this_thread::sleep_for(100ms);
        }
        return ::testing::AssertionFailure() << "node " << node << " has no block with " << to_hex(view(tx));
    }
    Hash32 accepted(std::size_t node, std::uint32_t account) {
        auto client = RpcClient::connect(network_->urls()[node]);
        const auto sent = client->send_raw(signed_transfer(account, 0)->raw);
        EXPECT_TRUE(sent.has_value()) << sent.error().message;
        return sent.value_or(Hash32{});
    }

    std::optional<Namespaces> namespaces_;
};

TEST_F(Partition, HalvesDecideNothingAndAreOneChainAgain) {
    const std::vector<std::size_t> left{0, 1, kFollower}, right{2, 3};
    between(left, right, &Namespaces::cut);
    std::this_thread::sleep_for(1500ms);  // A block that was decided before may still come.
    std::vector<std::uint64_t> stood;
    for (std::size_t i = 0; i < kNodes; ++i) stood.push_back(height(i));
    const Hash32 on_left = accepted(0, 6), on_right = accepted(3, 7);
    std::this_thread::sleep_for(8s);
    for (std::size_t i = 0; i < kNodes; ++i) {
        EXPECT_EQ(height(i), stood[i]) << i;
        EXPECT_GE(block_age_s(i), 8) << "the status does not hide it";
    }

    between(left, right, &Namespaces::join);
    for (std::size_t i = 0; i < kNodes; ++i) {
        EXPECT_TRUE(mined(i, on_left)) << i;
        EXPECT_TRUE(mined(i, on_right)) << i;
    }
    expect_equal_chains(*std::max_element(stood.begin(), stood.end()) + 3);
}

TEST_F(Partition, ThreeGoOnAndTheFourthCatchesUp) {
    const std::vector<std::size_t> most{0, 1, 2, kFollower};
    between(most, {3}, &Namespaces::cut);
    std::this_thread::sleep_for(1500ms);
    const std::uint64_t stood = height(3);
    const Hash32 tx = accepted(0, 6), alone = accepted(3, 7);
    // The fourth one proposes every fourth block; without it, a round of a second and a half passes.
    ASSERT_TRUE(reaches(0, stood + 12));
    EXPECT_TRUE(mined(kFollower, tx));
    EXPECT_EQ(height(3), stood);
    EXPECT_GE(block_age_s(3), 4) << "the status does not hide it";

    between(most, {3}, &Namespaces::join);
    EXPECT_TRUE(mined(3, tx));
    EXPECT_TRUE(mined(0, alone));
    expect_equal_chains(height(0));
}

}  // namespace
}  // namespace retrace::node
