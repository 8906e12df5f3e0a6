// SPDX-License-Identifier: MIT
#include "ledger/mempool/mempool.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "ledger/exec/max_gas.hpp"
#include "tests/unit/ledger/pool.hpp"

namespace retrace::ledger {
namespace {

using test::kBaseFee;
using test::key;
using test::kGasLimit;
using test::number;
using test::Pool;
using test::transfer;

TEST_F(Pool, PendingNonceCountsAtOnce) {
    EXPECT_EQ(pending(0), 0U);
    for (std::uint64_t nonce = 0; nonce < 5; ++nonce) ASSERT_TRUE(add(make(0, nonce)));
    EXPECT_EQ(pending(0), 5U);
    EXPECT_EQ(pending(1), 0U);
}

TEST_F(Pool, NoncesOutOfOrderWaitAndArePromoted) {
    ASSERT_TRUE(add(make(0, 2)));
    ASSERT_TRUE(add(make(0, 1)));
    EXPECT_TRUE(ready().empty());
    EXPECT_EQ(pool.stats().queued, 2U);
    EXPECT_EQ(pending(0), 0U);
    const auto added = add(make(0, 0));
    ASSERT_TRUE(added);
    ASSERT_EQ(added->promoted.size(), 3U);
    for (std::uint64_t nonce = 0; nonce < 3; ++nonce) EXPECT_EQ(added->promoted[nonce]->tx.nonce, nonce);
    EXPECT_EQ(ready().size(), 3U);
    EXPECT_EQ(pool.stats().pending, 3U);
}

TEST_F(Pool, GapsAreBounded) {
    EXPECT_TRUE(add(make(0, 64)));
    EXPECT_EQ(refusal(make(0, 65)), "nonce too high: next nonce 0, tx nonce 65");
    EXPECT_EQ(refusal(make(0, 1ULL << 60)), "nonce too high: next nonce 0, tx nonce 1152921504606846976");
}

TEST_F(Pool, RefusalsHaveEthereumsWords) {
    const TxPtr tx = make(0, 0);
    ASSERT_TRUE(add(tx));
    EXPECT_EQ(refusal(tx), "already known");
    world.block({tx});
    EXPECT_EQ(refusal(make(0, 0, 2'000'000'000)), "nonce too low: next nonce 1, tx nonce 0");
    Transaction rich = transfer(0, number(9), *U256::from_decimal("2000000000000000000000"));
    EXPECT_TRUE(
        refusal(sign_tx(rich, key(1)))
            .starts_with("insufficient funds for gas * price + value: balance 1000000000000000000000, tx cost"));
    Transaction cheap = transfer(0, number(9), 1);
    cheap.fee_cap = cheap.tip_cap = 999'999'999;
    EXPECT_TRUE(refusal(sign_tx(cheap, key(1))).starts_with("max fee per gas less than block base fee: "));
    Transaction free = transfer(0, number(9), 1);
    free.fee_cap = free.tip_cap = 0;
    EXPECT_FALSE(refusal(sign_tx(free, key(1))).empty()) << "gas price zero";
    Transaction hungry = transfer(0, number(9), 1);
    hungry.gas_limit = kGasLimit + 1;
    EXPECT_EQ(refusal(sign_tx(hungry, key(1))), "exceeds block gas limit");
    Transaction short_of_gas = transfer(0, number(9), 1);
    short_of_gas.gas_limit = 20'000;
    EXPECT_EQ(refusal(sign_tx(short_of_gas, key(1))), "intrinsic gas too low: gas 20000, minimum needed 21000");
    Transaction greedy = transfer(0, number(9), 1);
    greedy.tip_cap = greedy.fee_cap + 1;
    EXPECT_TRUE(refusal(sign_tx(greedy, key(1))).starts_with("max priority fee per gas higher than max fee per gas"));
}

TEST_F(Pool, MinimumTipIsAskedFor) {
    Mempool strict(world.executor, {.min_tip = 5});
    Transaction tx = transfer(0, number(9), 1);
    tx.tip_cap = 4;
    const auto added = strict.add(sign_tx(tx, key(0)), *world.chain->view(), kBaseFee, kGasLimit);
    EXPECT_EQ(added.error().message, "transaction underpriced: tip needed 5, tip permitted 4");
}

TEST_F(Pool, ReplacementNeedsTenPercentOnBothCaps) {
    const auto priced = [](std::uint64_t tip, std::uint64_t cap) {
        Transaction tx = transfer(0, number(9), 1);
        tx.tip_cap = tip;
        tx.fee_cap = cap;
        return sign_tx(tx, key(0));
    };
    const TxPtr first = priced(1'000, 10'000'000'000);
    ASSERT_TRUE(add(first));
    EXPECT_EQ(refusal(priced(1'099, 11'000'000'000)), "replacement transaction underpriced");
    EXPECT_EQ(refusal(priced(1'100, 10'999'999'999)), "replacement transaction underpriced");
    const TxPtr second = priced(1'100, 11'000'000'000);
    const auto added = add(second);
    ASSERT_TRUE(added);
    EXPECT_EQ(added->replaced, first->hash);
    EXPECT_EQ(pool.find(first->hash), nullptr) << "a replaced transaction vanishes";
    EXPECT_EQ(pool.find(second->hash), second);
    EXPECT_EQ(pool.stats().pending, 1U);
    EXPECT_EQ(pool.stats().bytes, second->raw.size());
}

TEST_F(Pool, AnAccountCannotPromiseMoreThanItHas) {
    const U256 most = *U256::from_decimal("600000000000000000000");
    ASSERT_TRUE(add(sign_tx(transfer(0, number(9), most), key(0))));
    const std::string text = refusal(sign_tx(transfer(1, number(9), most), key(0)));
    EXPECT_TRUE(text.starts_with("insufficient funds for gas * price + value: balance")) << text;
    EXPECT_NE(text.find("queued cost"), std::string::npos);
}

// The block is committed, but the pool has not been notified yet.
TEST_F(Pool, WhatABlockHasPaidForIsNotAskedForAgain) {
    const U256 most = *U256::from_decimal("600000000000000000000");
    const TxPtr first = sign_tx(transfer(0, number(9), most), key(0));
    ASSERT_TRUE(add(first));
    const auto block = world.block({first});
    const U256 rest = *U256::from_decimal("300000000000000000000");
    EXPECT_EQ(refusal(sign_tx(transfer(1, number(9), rest), key(0))), "");
    EXPECT_NE(refusal(sign_tx(transfer(2, number(9), rest), key(0))), "") << "what waits still counts";
    on_block(*block);
    EXPECT_EQ(ready().size(), 1U);
}

class CountingView final : public StateView {
public:
    explicit CountingView(const StateView& below) : below_(below) {}
    Account account(const Address& address) const override {
        ++reads;
        return below_.account(address);
    }
    Bytes slot(const Address& contract, View key) const override { return below_.slot(contract, key); }
    mutable int reads = 0;

private:
    const StateView& below_;
};

TEST_F(Pool, WhoWaitsBehindAHoleCostsABlockNoRead) {
    for (std::uint64_t who = 0; who < 4; ++who) ASSERT_TRUE(add(make(who, who == 2 ? 0 : 1)));
    const auto view = world.chain->view();
    const CountingView counting(*view);
    EXPECT_EQ(pool.ready(counting, kBaseFee, 1 << 20, kGasLimit).size(), 1U);
    EXPECT_EQ(counting.reads, 1);
}

TEST_F(Pool, BlocksAreFilledByFeeAndNonce) {
    ASSERT_TRUE(add(make(0, 0, 10)));
    ASSERT_TRUE(add(make(0, 1, 1'000)));
    ASSERT_TRUE(add(make(1, 0, 100)));
    ASSERT_TRUE(add(make(2, 0, 10)));
    const auto txs = ready();
    ASSERT_EQ(txs.size(), 4U);
    EXPECT_EQ(txs[0]->sender, key(1).address());
    EXPECT_EQ(txs[1]->sender, key(0).address()) << "equal tips: first come";
    EXPECT_EQ(txs[2]->tx.nonce, 1U);
    EXPECT_EQ(txs[3]->sender, key(2).address());
    EXPECT_EQ(ready(txs[0]->raw.size() + 8).size(), 1U);
    EXPECT_EQ(ready(10).size(), 0U);
    EXPECT_EQ(ready(1 << 20, 63'000).size(), 3U);
}

// A gas limit costs nothing: one sender that named the whole block's gas twenty times could once exclude all others
// from twenty blocks.
TEST_F(Pool, LimitsTakeNoRoomFromOthers) {
    constexpr std::uint64_t kPromises = 20;
    for (std::uint64_t nonce = 0; nonce < kPromises; ++nonce) {
        Transaction tx = transfer(nonce, number(9), 1);
        if (nonce % 2 == 1) tx = test::call(nonce, test::bytes("p"));
        tx.gas_limit = kGasLimit;
        tx.tip_cap = 1'000'000'001;
        ASSERT_TRUE(add(sign_tx(tx, key(0))));
    }
    const TxPtr victim = make(1, 0, 1'000'000'000);
    ASSERT_TRUE(add(victim));
    const auto txs = ready();
    ASSERT_EQ(txs.size(), kPromises + 1);
    EXPECT_EQ(txs.back(), victim);
    std::uint64_t used = 0;
    for (const TxPtr& tx : txs) used += max_gas(tx->tx, world.executor);
    EXPECT_EQ(ready(1 << 20, used - 1).size(), kPromises) << "what is used is counted";
    EXPECT_EQ(ready(1 << 20, used).size(), kPromises + 1);
    const auto block = world.block(txs);
    for (const Receipt& receipt : block->receipts) EXPECT_TRUE(receipt.success) << receipt.revert_reason;
    EXPECT_EQ(block->header.gas_used, used);
}

TEST_F(Pool, EverythingReadyExecutes) {
    for (std::uint64_t nonce = 0; nonce < 20; ++nonce) {
        for (std::uint64_t who = 0; who < 4; ++who) ASSERT_TRUE(add(make(who, nonce, 1 + (nonce * 7 + who) % 5)));
    }
    const auto block = world.block(ready());
    EXPECT_EQ(block->receipts.size(), 80U);
    for (const Receipt& receipt : block->receipts) EXPECT_TRUE(receipt.success) << receipt.revert_reason;
    EXPECT_TRUE(on_block(*block).promoted.empty());
    EXPECT_EQ(pool.stats().pending + pool.stats().queued, 0U);
    EXPECT_EQ(pool.stats().bytes, 0U);
    EXPECT_EQ(pending(0), 20U);
}

TEST_F(Pool, ABlockByOthersPromotesWhatWaited) {
    ASSERT_TRUE(add(make(0, 1)));
    const auto block = world.block({make(0, 0)});
    const auto promoted = on_block(*block).promoted;
    ASSERT_EQ(promoted.size(), 1U);
    EXPECT_EQ(promoted[0]->tx.nonce, 1U);
    EXPECT_EQ(pending(0), 2U);
}

TEST_F(Pool, ASpentBalanceDropsWhatItCovered) {
    const U256 most = *U256::from_decimal("900000000000000000000");
    const TxPtr big = sign_tx(transfer(1, number(9), most), key(0));
    ASSERT_TRUE(add(big));
    const auto block = world.block({sign_tx(transfer(0, number(9), most), key(0))});  // was received another way
    on_block(*block);
    EXPECT_EQ(pool.find(big->hash), nullptr);
}

TEST_F(Pool, AViewOneBlockOldDoesNotBringBackWhatIsDone) {
    const TxPtr tx = make(0, 0);
    const auto old_view = world.chain->view();
    ASSERT_TRUE(add(tx));
    const auto block = world.block({tx});
    on_block(*block);
    const auto again = pool.add(tx, *old_view, kBaseFee, kGasLimit);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, TxError::nonce_too_low);
}

TEST_F(Pool, AFullPoolGivesUpTheCheapest) {
    Mempool small(world.executor, {.count = 4});
    const auto view = world.chain->view();
    const auto put = [&](const TxPtr& tx) { return small.add(tx, *view, kBaseFee, kGasLimit); };
    const TxPtr cheap_first = make(0, 0, 10);
    const TxPtr cheap_last = make(0, 1, 500);
    ASSERT_TRUE(put(cheap_first));
    ASSERT_TRUE(put(cheap_last));
    ASSERT_TRUE(put(make(1, 0, 100)));
    ASSERT_TRUE(put(make(2, 0, 100)));
    const auto refused = put(make(3, 0, 10));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, TxError::pool_full);
    EXPECT_TRUE(refused.error().message.starts_with("transaction underpriced"));
    ASSERT_TRUE(put(make(3, 0, 50)));
    EXPECT_EQ(small.find(cheap_last->hash), nullptr) << "the cheap account's last goes first";
    EXPECT_NE(small.find(cheap_first->hash), nullptr);
    ASSERT_TRUE(put(make(3, 1, 50)));
    EXPECT_EQ(small.find(cheap_first->hash), nullptr);
    EXPECT_EQ(small.stats().pending, 4U);
}

// A sender with high tips after a nonce gap never has to fill the gap, so such transactions cost nothing.
TEST_F(Pool, AFullPoolGivesUpWhatWaitsBehindHolesFirst) {
    Mempool small(world.executor, {.count = 6});
    const auto view = world.chain->view();
    const auto put = [&](const TxPtr& tx) { return small.add(tx, *view, kBaseFee, kGasLimit); };
    const std::uint64_t high = 1'000'000'000'000;
    const TxPtr honest = make(2, 0, 10);
    ASSERT_TRUE(put(honest));
    const TxPtr one = make(1, 5, high);
    ASSERT_TRUE(put(one));
    for (const std::uint64_t nonce : {9, 7, 8, 6}) ASSERT_TRUE(put(make(0, nonce, high)));
    const auto refused = put(make(3, 1, high));
    ASSERT_FALSE(refused) << "one more behind a hole";
    EXPECT_EQ(refused.error().code, TxError::pool_full);
    EXPECT_NE(small.find(honest->hash), nullptr);

    for (std::uint64_t nonce = 0; nonce < 5; ++nonce) {
        ASSERT_TRUE(put(make(3, nonce, 20))) << "a small tip that can be paid";
        EXPECT_EQ(small.stats().queued, 4 - nonce);
        if (nonce < 3) {
            EXPECT_NE(small.find(one->hash), nullptr) << "the account with most loses first";
        }
    }
    EXPECT_NE(small.find(honest->hash), nullptr);
    ASSERT_TRUE(put(make(0, 0, 30)));
    EXPECT_EQ(small.find(honest->hash), nullptr) << "now the cheapest";
}

TEST_F(Pool, WhoIsRefusedPushesNobodyOut) {
    Transaction large = transfer(0, number(9), 1);
    large.data = Bytes(1000);
    large.gas_limit = 100'000;
    large.tip_cap = 150;
    const TxPtr newcomer = sign_tx(large, key(3));
    std::vector<TxPtr> there;
    for (std::uint64_t i = 0; i < 12; ++i) there.push_back(i < 4 ? make(0, i, 100) : make(1, i - 4, 200));
    std::size_t bytes = 0;
    for (const TxPtr& tx : there) bytes += tx->raw.size();
    Mempool small(world.executor, {.bytes = bytes});
    const auto view = world.chain->view();
    const auto put = [&](const TxPtr& tx) { return small.add(tx, *view, kBaseFee, kGasLimit); };
    for (const TxPtr& tx : there) ASSERT_TRUE(put(tx));
    const PoolStats before = small.stats();
    EXPECT_EQ(put(newcomer).error().code, TxError::pool_full) << "four pay less, and more have to go";
    EXPECT_EQ(small.stats().bytes, before.bytes);
    for (const TxPtr& tx : there) EXPECT_NE(small.find(tx->hash), nullptr);
}

TEST_F(Pool, BytesAreBounded) {
    const std::size_t size = make(0, 0)->raw.size();
    Mempool small(world.executor, {.bytes = 2 * size + 10});
    const auto view = world.chain->view();
    for (std::uint64_t i = 0; i < 4; ++i) {
        (void)small.add(make(i, 0, 100 + i), *view, kBaseFee, kGasLimit);
        EXPECT_LE(small.stats().bytes, 2 * size + 10);
    }
    EXPECT_EQ(small.stats().pending, 2U);
}

TEST_F(Pool, AccountsAreBounded) {
    Mempool small(world.executor, {.pending_per_account = 2});
    const auto view = world.chain->view();
    ASSERT_TRUE(small.add(make(0, 0), *view, kBaseFee, kGasLimit));
    ASSERT_TRUE(small.add(make(0, 1), *view, kBaseFee, kGasLimit));
    EXPECT_EQ(small.add(make(0, 2), *view, kBaseFee, kGasLimit).error().code, TxError::account_queue_full);
}

TEST_F(Pool, ContentsRefillAPool) {
    for (const std::uint64_t nonce : {0, 1, 3}) ASSERT_TRUE(add(make(0, nonce)));
    ASSERT_TRUE(add(make(1, 0)));
    Mempool next(world.executor);
    for (const TxPtr& tx : pool.contents()) {
        ASSERT_TRUE(next.add(tx, *world.chain->view(), kBaseFee, kGasLimit));
    }
    EXPECT_EQ(next.stats().pending, 3U);
    EXPECT_EQ(next.stats().queued, 1U);
}

TEST_F(Pool, ManyThreadsAddWhileBlocksAreMade) {
    constexpr std::uint64_t kEach = 100;
    std::vector<std::thread> threads;
    std::atomic<int> refused{0};
    for (std::uint64_t who = 0; who < 4; ++who) {
        threads.emplace_back([&, who] {
            for (std::uint64_t nonce = 0; nonce < kEach; ++nonce) {
                if (!pool.add(make(who, nonce), world.chain->live(), kBaseFee, kGasLimit)) ++refused;
            }
        });
    }
    std::size_t included = 0;
    while (included < 4 * kEach && refused == 0) {
        const auto block =
            world.block(pool.ready(*world.chain->view(), world.chain->next_base_fee(), 1 << 20, kGasLimit));
        for (const Receipt& receipt : block->receipts) ASSERT_TRUE(receipt.success) << receipt.revert_reason;
        included += block->txs.size();
        on_block(*block);
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(refused, 0);
    EXPECT_EQ(pool.stats().bytes, 0U);
}

}  // namespace
}  // namespace retrace::ledger
