// SPDX-License-Identifier: MIT
// Calls that the rules wait for come into a block, whatever others pay. SPEC 7.3, 7.4.1
#include <gtest/gtest.h>

#include "tests/unit/ledger/pool.hpp"

namespace retrace::ledger {
namespace {

using test::kBaseFee;
using test::key;
using test::kGasLimit;
using test::Pool;

struct Awaited : Pool {
    Awaited() { on_block(*world.block({})); }

    /// An awaited call of the least tip.
    static TxPtr awaited(std::uint64_t who, std::uint64_t nonce, std::size_t bytes = 36) {
        Bytes data(bytes);
        data[0] = 'a';
        Transaction tx = test::call(nonce, std::move(data));
        tx.tip_cap = 1;
        return sign_tx(tx, key(who));
    }
    static bool has(const std::vector<TxPtr>& txs, const TxPtr& tx) {
        return std::any_of(txs.begin(), txs.end(), [&](const TxPtr& other) { return other->hash == tx->hash; });
    }
};

TEST_F(Awaited, CallsComeFirstWithWhatIsBeforeThem) {
    const TxPtr cheap = make(0, 0, 2), call = awaited(0, 1);
    for (const TxPtr& tx : {cheap, call, make(0, 2, 3), make(1, 0, 5'000), make(1, 1, 5'000)}) ASSERT_TRUE(add(tx));
    const auto all = ready();
    ASSERT_EQ(all.size(), 5u);
    EXPECT_EQ(all[0]->hash, cheap->hash);
    EXPECT_EQ(all[1]->hash, call->hash);
    EXPECT_EQ(all[2]->sender, key(1).address()) << "what follows the call has only its tip";
    EXPECT_TRUE(has(ready(400), call)) << "a block that is nearly full";
}

TEST_F(Awaited, CallsBehindMuchElseHaveOnlyTheirTip) {
    const TxPtr behind_many = awaited(0, 8), behind_large = awaited(2, 1), large = awaited(3, 0, 2'100);
    for (std::uint64_t nonce = 0; nonce < 8; ++nonce) ASSERT_TRUE(add(make(0, nonce, 2)));
    Transaction other = test::call(0, Bytes(2'000));
    other.tip_cap = 2;
    for (const TxPtr& tx : {behind_many, sign_tx(other, key(2)), behind_large, large, make(1, 0, 5'000)})
        ASSERT_TRUE(add(tx));
    EXPECT_EQ(ready().at(0)->sender, key(1).address());
}

TEST_F(Awaited, CallsFindAPlaceInAFullPoolAndKeepIt) {
    Mempool small(world.executor, {.count = 3});
    small.on_block(*world.block({}), *world.chain->view(), kBaseFee);
    const auto view = world.chain->view();
    const auto put = [&](const TxPtr& tx) { return small.add(tx, *view, kBaseFee, kGasLimit); };
    const TxPtr cheapest = make(1, 0, 100);
    for (const TxPtr& tx : {cheapest, make(2, 0, 200), make(3, 0, 300)}) ASSERT_TRUE(put(tx));
    const TxPtr call = awaited(0, 0);
    ASSERT_TRUE(put(call));
    EXPECT_EQ(small.find(cheapest->hash), nullptr);
    ASSERT_TRUE(put(make(1, 0, 5'000)));
    EXPECT_NE(small.find(call->hash), nullptr) << "the cheapest that is not awaited goes";
    ASSERT_TRUE(put(make(0, 1, 6'000)));
    ASSERT_TRUE(put(make(2, 0, 9'000)));
    EXPECT_NE(small.find(call->hash), nullptr);
}

}  // namespace
}  // namespace retrace::ledger
