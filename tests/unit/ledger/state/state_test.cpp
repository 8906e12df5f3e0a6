// SPDX-License-Identifier: MIT
#include "ledger/state/state.hpp"

#include <gtest/gtest.h>

#include <random>

#include "ledger/state/cached_view.hpp"
#include "ledger/state/supply.hpp"
#include "tests/unit/ledger/world.hpp"

namespace retrace::ledger {
namespace {

using test::bytes;
using test::EmptyView;
using test::number;

TEST(State, ReadsThroughToItsBase) {
    const EmptyView empty;
    State base(empty);
    base.credit(number(1), 100);
    base.set_slot(number(9), bytes("k"), bytes("v"));
    const State top = State::over(base);
    EXPECT_EQ(top.account(number(1)).balance, U256{100});
    EXPECT_EQ(top.slot(number(9), bytes("k")), bytes("v"));
    EXPECT_TRUE(top.slot(number(8), bytes("k")).empty());
    EXPECT_TRUE(top.diff().empty());
}

TEST(State, TransferOverTheBalanceChangesNothing) {
    const EmptyView empty;
    State state(empty);
    state.credit(number(1), 5);
    const StateDiff before = state.diff();
    EXPECT_FALSE(state.transfer(number(1), number(2), 6));
    EXPECT_EQ(state.diff().accounts, before.accounts);
    EXPECT_TRUE(state.transfer(number(1), number(2), 5));
    EXPECT_EQ(state.account(number(2)).balance, U256{5});
}

TEST(State, TransferToOneselfKeepsTheBalance) {
    const EmptyView empty;
    State state(empty);
    state.credit(number(1), 5);
    EXPECT_TRUE(state.transfer(number(1), number(1), 5));
    EXPECT_EQ(state.account(number(1)).balance, U256{5});
}

TEST(State, RevertRestoresEveryMark) {
    // Compares with a model that copies the whole state at each mark.
    using Model = std::pair<std::map<Address, Account>, SlotMap>;
    std::mt19937_64 random(7);
    const EmptyView empty;
    State base(empty);
    base.credit(number(1), 1000);
    base.set_slot(number(1), bytes("a"), bytes("base"));
    for (int round = 0; round < 200; ++round) {
        State state = State::over(base);
        std::vector<std::pair<State::Mark, Model>> marks;
        for (int i = 0; i < 40; ++i) {
            const StateDiff diff = state.diff();
            marks.emplace_back(state.mark(), Model{diff.accounts, diff.slots});
            const Address who = number(random() % 3);
            if (random() % 2 == 0) {
                state.set_account(who, {random() % 3, U256{random() % 3}});
            } else {
                state.set_slot(who, random() % 2 ? bytes("a") : bytes("ab"), random() % 2 ? bytes("x") : Bytes{});
            }
            if (random() % 8 != 0) continue;
            const auto back = marks[random() % marks.size()];
            while (marks.back().first > back.first) marks.pop_back();
            state.revert(back.first);
            ASSERT_EQ(state.diff().accounts, back.second.first) << "round " << round << " step " << i;
            ASSERT_EQ(state.diff().slots, back.second.second) << "round " << round << " step " << i;
        }
    }
}

TEST(State, DiffLeavesOutWhatEndedWhereItBegan) {
    const EmptyView empty;
    State base(empty);
    base.credit(number(1), 10);
    State state = State::over(base);
    ASSERT_TRUE(state.transfer(number(1), number(2), 4));
    ASSERT_TRUE(state.transfer(number(2), number(1), 4));
    state.set_slot(number(3), bytes("k"), bytes("v"));
    state.set_slot(number(3), bytes("k"), {});
    EXPECT_TRUE(state.diff().empty());
}

TEST(State, ApplyTakesOverAnOverlay) {
    const EmptyView empty;
    State base(empty);
    base.credit(number(1), 10);
    State top = State::over(base);
    ASSERT_TRUE(top.transfer(number(1), number(2), 4));
    base.apply(top.diff());
    EXPECT_EQ(base.account(number(1)).balance, U256{6});
    EXPECT_EQ(base.account(number(2)).balance, U256{4});
}

TEST(CachedView, ReadsEachThingOnce) {
    struct Counting final : StateView {
        mutable int reads = 0;
        Account account(const Address&) const override { return ++reads, Account{1, 2}; }
        Bytes slot(const Address&, View) const override { return ++reads, Bytes{3}; }
    };
    const Counting base;
    const CachedView cached(base);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(cached.account(number(1)), (Account{1, 2}));
        EXPECT_EQ(cached.slot(number(1), bytes("k")), Bytes{3});
    }
    EXPECT_EQ(base.reads, 2);
}

TEST(Supply, MintAndBurnAreBooked) {
    const EmptyView empty;
    State state(empty);
    ASSERT_TRUE(mint(state, number(1), 100));
    ASSERT_TRUE(burn(state, number(1), 30));
    EXPECT_FALSE(burn(state, number(1), 71));
    EXPECT_EQ(minted(state), U256{100});
    EXPECT_EQ(burned(state), U256{30});
    EXPECT_TRUE(supply_conserved(empty, state));
    EXPECT_FALSE(mint(state, number(2), U256::max()));
}

TEST(Supply, MoneyFromNowhereIsSeen) {
    const EmptyView empty;
    State base(empty);
    ASSERT_TRUE(mint(base, number(1), 100));
    State made = State::over(base);
    made.credit(number(2), 1);
    EXPECT_FALSE(supply_conserved(base, made));
    State lost = State::over(base);
    ASSERT_TRUE(lost.debit(number(1), 1));
    EXPECT_FALSE(supply_conserved(base, lost));
    book_burn(lost, 1);
    EXPECT_TRUE(supply_conserved(base, lost));
}

}  // namespace
}  // namespace retrace::ledger
