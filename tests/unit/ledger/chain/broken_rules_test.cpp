// SPDX-License-Identifier: MIT
// SPEC 5.3.8 and 5.3.4: a call that breaks the rules is undone, and tips that a proposer must not receive are burned.
#include <gtest/gtest.h>

#include "ledger/chain/chain.hpp"
#include "tests/unit/ledger/world.hpp"

namespace retrace::ledger {
namespace {

using test::bytes;
using test::key;
using test::number;
using test::transfer;
using test::World;

const U256 kCoin = *U256::from_decimal("1000000000000000000");

TEST(BrokenRules, ATransactionThatBreaksAnInvariantIsUndoneAndPays) {
    MemoryStore store;
    World world(store);
    const auto block =
        world.block({sign_tx(test::call(0, bytes("bad"), 7), key(0)), sign_tx(test::call(0, bytes("sxfine")), key(1))});
    ASSERT_EQ(block->receipts.size(), 2U);
    EXPECT_FALSE(block->receipts[0].success);
    EXPECT_EQ(block->receipts[0].revert_reason, "nothing is broken");
    EXPECT_EQ(block->receipts[0].gas_used, intrinsic_gas(test::call(0, bytes("bad"), 7)) + 1000);
    EXPECT_TRUE(block->receipts[1].success) << "the chain goes on";
    const auto view = world.chain->view();
    EXPECT_TRUE(view->slot(test::kContract, bytes("broken")).empty());
    EXPECT_EQ(view->account(test::kContract).balance, U256{0}) << "its value was not moved";
    EXPECT_EQ(view->account(key(0).address()).nonce, 1U);
    EXPECT_EQ(view->account(key(0).address()).balance,
              U256{1000} * kCoin - block->receipts[0].effective_gas_price * block->receipts[0].gas_used);
}

// The contracts' books are their balances, so an income without a record would break them.
TEST(BrokenRules, TheTipsOfAProposerThatIsANativeContractAreBurned) {
    MemoryStore store;
    World world(store);
    const TxPtr tx = sign_tx(transfer(0, number(1), 5), key(0));
    const std::vector<View> raw{tx->raw};
    const auto outcome = world.chain->execute_block({.height = 1,
                                                     .time_ns = world.chain->tip()->header.time_ns + 1'000'000'000,
                                                     .proposer = test::kContract,
                                                     .txs = raw,
                                                     .known = {}});
    ASSERT_TRUE(outcome);
    ASSERT_TRUE(world.chain->commit(*outcome));
    const auto state = world.chain->view();
    EXPECT_EQ(state->account(test::kContract).balance, U256{0});
    EXPECT_EQ(burned(*state), outcome->block->receipts[0].effective_gas_price * 21'000);
}

}  // namespace
}  // namespace retrace::ledger
