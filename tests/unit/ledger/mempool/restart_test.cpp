// SPDX-License-Identifier: MIT
// Transactions that a pool accepts again after a restart, and the notifications for the journal's writer.
#include <gtest/gtest.h>

#include "tests/unit/ledger/pool.hpp"

namespace retrace::ledger {
namespace {

using test::kBaseFee;
using test::key;
using test::kGasLimit;
using test::number;
using test::Pool;
using test::transfer;

struct Restarted : Pool {
    Restarted() : next(world.executor) {}
    std::string restore(const TxPtr& tx, std::uint64_t base_fee = 1'000'000'000) {
        const auto taken = next.restore(tx, *world.chain->view(), base_fee, kGasLimit);
        return taken ? "" : taken.error().message;
    }
    Mempool next;
};

TEST_F(Restarted, ABaseFeeThatRoseIsNoReasonToForget) {
    Transaction low = transfer(0, number(9), 1);
    low.tip_cap = 0;
    low.fee_cap = kBaseFee;
    const TxPtr first = sign_tx(low, key(0));
    EXPECT_EQ(restore(first, 2'000'000'000), "");
    EXPECT_EQ(restore(make(0, 1), 2'000'000'000), "");
    EXPECT_EQ(next.stats().pending, 2U);
    const auto view = world.chain->view();
    EXPECT_TRUE(next.ready(*view, 2'000'000'000, 1 << 20, kGasLimit).empty()) << "it waits";
    EXPECT_EQ(next.ready(*view, kBaseFee, 1 << 20, kGasLimit).size(), 2U) << "and runs when the fee has fallen";
}

TEST_F(Restarted, NeitherAWideHoleNorABalanceThatIsSpentInPartIsOne) {
    for (const std::uint64_t nonce : {500, 70, 0}) EXPECT_EQ(restore(make(0, nonce)), "") << nonce;
    const U256 most = *U256::from_decimal("600000000000000000000");
    EXPECT_EQ(restore(sign_tx(transfer(0, number(9), most), key(1))), "");
    EXPECT_EQ(restore(sign_tx(transfer(1, number(9), most), key(1))), "") << "one of them can be paid";
    const auto txs = next.ready(*world.chain->view(), kBaseFee, 1 << 20, kGasLimit);
    EXPECT_EQ(txs.size(), 2U);
}

TEST_F(Restarted, WhatCanNeverRunDoesNotComeBack) {
    const TxPtr done = make(0, 0);
    world.block({done});
    EXPECT_EQ(restore(done), "nonce too low: next nonce 1, tx nonce 0");
    Transaction rich = transfer(0, number(9), *U256::from_decimal("2000000000000000000000"));
    EXPECT_NE(restore(sign_tx(rich, key(1))), "");
    Transaction short_of_gas = transfer(0, number(9), 1);
    short_of_gas.gas_limit = 20'000;
    EXPECT_NE(restore(sign_tx(short_of_gas, key(1))), "");
    EXPECT_EQ(restore(make(2, 0, 2'000'000'000)), "");
    EXPECT_NE(restore(make(2, 0, 9'000'000'000)), "") << "the nonce is taken, whatever is offered";
    EXPECT_EQ(next.stats().pending, 1U);
    Mempool tiny(world.executor, {.count = 1});
    EXPECT_TRUE(tiny.restore(make(2, 0), *world.chain->view(), kBaseFee, kGasLimit));
    EXPECT_FALSE(tiny.restore(make(3, 0, 1'000'000'000'000), *world.chain->view(), kBaseFee, kGasLimit));
}

TEST_F(Pool, WhoeverWritesAJournalIsToldWhatWent) {
    Mempool small(world.executor, {.count = 2});
    const auto view = world.chain->view();
    const TxPtr cheap = make(0, 0, 10);
    ASSERT_TRUE(small.add(cheap, *view, kBaseFee, kGasLimit));
    const U256 most = *U256::from_decimal("900000000000000000000");
    const TxPtr big = sign_tx(transfer(1, number(9), most), key(1));
    ASSERT_TRUE(small.add(big, *view, kBaseFee, kGasLimit));
    const auto added = small.add(make(2, 0, 1'000), *view, kBaseFee, kGasLimit);
    ASSERT_TRUE(added);
    EXPECT_EQ(added->evicted, std::vector<TxPtr>{big}) << "behind a hole";
    ASSERT_TRUE(add(big));
    const auto block = world.block({sign_tx(transfer(0, number(9), most), key(1))});
    EXPECT_EQ(on_block(*block).dropped, std::vector<TxPtr>{big}) << "the balance is gone";
    const TxPtr last = make(3, 0);
    ASSERT_TRUE(add(last));
    EXPECT_TRUE(on_block(*world.block({last})).dropped.empty()) << "what a block included is not dropped";
}

}  // namespace
}  // namespace retrace::ledger
