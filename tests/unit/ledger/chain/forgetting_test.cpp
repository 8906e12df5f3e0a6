// SPDX-License-Identifier: MIT
// Data that leaves a window while it is being read: the answer names this, and never uses data from after it.
#include <gtest/gtest.h>

#include "ledger/chain/log_search.hpp"
#include "tests/unit/ledger/world.hpp"

namespace retrace::ledger {
namespace {

using test::kContract;
using test::World;

/// Runs a callback at the two points where another thread could read: after a read, and before a commit is published.
class BetweenStore final : public Store {
public:
    std::optional<Bytes> get(View key) const override {
        auto out = store_.get(key);
        if (after_read) std::exchange(after_read, {})();
        return out;
    }
    Status<> write(const Batch& batch, bool sync) override {
        auto out = store_.write(batch, sync);
        if (after_write) after_write();
        return out;
    }
    void scan(View prefix, View from, std::size_t limit, const Visit& visit) const override {
        store_.scan(prefix, from, limit, visit);
    }

    mutable std::function<void()> after_read;  ///< Called once.
    std::function<void()> after_write;

private:
    MemoryStore store_;
};

/// FakeExecutor counts the blocks, so the number at height h is h.
std::uint64_t number_at(const Chain& chain, std::uint64_t height) {
    const auto view = chain.view_at(height);
    if (!view) return height;
    Bytes count = (*view)->slot(kContract, test::bytes("blocks"));
    count.resize(8);
    return chain.oldest_state() > height ? height : load_u64(count.data());
}

TEST(Forgetting, IsToldBeforeAnythingIsErased) {
    BetweenStore store;
    World world(store, {.state_window = 3, .proof_window = 2, .block_window = 10, .threads = 1});
    std::uint64_t looks = 0;
    store.after_write = [&] {
        const Chain& chain = *world.chain;
        for (std::uint64_t height = chain.oldest_state(); height <= chain.height(); ++height)
            ASSERT_EQ(number_at(chain, height), height) << "before block " << chain.height() + 1 << " is published";
        for (std::uint64_t height = chain.oldest_block(); height <= chain.height(); ++height)
            ASSERT_TRUE(chain.block(height)) << height;
        ++looks;
    };
    for (int i = 0; i < 24; ++i) world.block({});
    EXPECT_EQ(looks, 24U);
    EXPECT_EQ(world.chain->oldest_state(), 21U);
    EXPECT_EQ(world.chain->oldest_block(), 14U);
}

TEST(Forgetting, AReadThatItOvertakesShowsInTheWindow) {
    BetweenStore store;
    World world(store, {.state_window = 3, .threads = 1});
    for (int i = 0; i < 5; ++i) world.block({});
    const auto view = world.chain->view_at(5);
    ASSERT_TRUE(view);
    store.after_read = [&] {
        for (int i = 0; i < 6; ++i) world.block({});
    };
    Bytes count = (*view)->slot(kContract, test::bytes("blocks"));
    EXPECT_NE(load_u64(count.data()), 5U) << "the trap is set: it is a later block's";
    EXPECT_GT(world.chain->oldest_state(), 5U);
}

TEST(Forgetting, NoProofIsMadeOfALaterValue) {
    BetweenStore store;
    World world(store, {.state_window = 1, .proof_window = 64, .threads = 1});
    for (int i = 0; i < 5; ++i) world.block({});
    store.after_read = [&] {
        for (int i = 0; i < 6; ++i) world.block({});
    };
    const auto proof = world.chain->prove_slot(5, kContract, test::bytes("blocks"));
    ASSERT_FALSE(proof);
    EXPECT_EQ(proof.error().code, ChainError::not_kept);
}

TEST(Forgetting, ASearchNamesTheBlockThatIsMissing) {
    MemoryStore store;
    World world(store, {.state_window = 3, .proof_window = 2, .block_window = 10, .threads = 1});
    for (int i = 0; i < 30; ++i) world.block({});  // every third has a log
    const auto found = search_logs(*world.chain, 0, 30, {}, 100);
    EXPECT_EQ(found.end, FoundLogs::End::missing);
    EXPECT_EQ(found.next, 1U);
    const auto kept = search_logs(*world.chain, world.chain->oldest_block(), 30, {}, 100);
    EXPECT_EQ(kept.end, FoundLogs::End::complete);
    EXPECT_EQ(kept.logs.size(), 4U);
    // Block 21 is pruned after its bloom has been read and before it is loaded.
    const auto overtaken = search_logs(*world.chain, 20, 30, {}, 100, [&](std::size_t work) {
        for (int i = 0; work >= kBlockWork && i < 6; ++i) world.block({});
        return true;
    });
    EXPECT_EQ(overtaken.end, FoundLogs::End::missing);
    EXPECT_EQ(overtaken.next, 21U);
    EXPECT_TRUE(overtaken.logs.empty());
}

}  // namespace
}  // namespace retrace::ledger
