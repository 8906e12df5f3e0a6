// SPDX-License-Identifier: MIT
// The longest work that cannot be interrupted: for a proof, the record of one full block; for a block, its JSON.
#include <gtest/gtest.h>
#include <time.h>

#include <boost/json/serialize.hpp>

#include "ledger/chain/keys.hpp"
#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node::test {
namespace {

constexpr std::uint64_t kTxs = 19'000;  // nearly as many as a block's gas allows
/// Two fifths of two seconds of a core (README of node).
constexpr double kPieceMax = 0.8;

/// Processor time of this thread, which excludes other load on the machine.
double seconds_used() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

ledger::Address number(std::uint64_t n) {
    ledger::Address out;
    store_u64(out.bytes.data(), n);
    return out;
}

/// A block of transfers to new accounts, followed by an empty block.
class FullBlock : public testing::Test {
protected:
    FullBlock() {
        std::vector<ledger::TxPtr> txs;
        for (std::uint64_t i = 0; i < kTxs; ++i)
            txs.push_back(world.make_tx(0, number(i + 1), 1, {}, i, ledger::kTransferGas));
        add(txs);
        add({});
    }
    void add(const std::vector<ledger::TxPtr>& txs) {
        std::vector<View> raw;
        std::map<Hash32, ledger::TxPtr> signed_here;
        for (const ledger::TxPtr& tx : txs) {
            raw.push_back(tx->raw);
            signed_here[tx->hash] = tx;
        }
        const auto tip = world.chain->tip();
        const auto outcome =
            world.chain->execute_block({.height = tip->header.height + 1,
                                        .time_ns = tip->header.time_ns + 1'000'000'000,
                                        .proposer = number(0),
                                        .txs = raw,
                                        .known = [&](const Hash32& hash) { return signed_here.at(hash); }});
        EXPECT_TRUE(outcome && world.chain->commit(*outcome));
    }
    /// Seconds for the whole request, including its text.
    double time_of(const char* method, const json::array& params) {
        const double start = seconds_used();
        rpc::Caller caller;
        const auto answer = world.router.call(method, params, caller);
        EXPECT_TRUE(answer) << method;
        const std::size_t bytes = answer ? json::serialize(*answer).size() : 0;
        const double took = seconds_used() - start;
        std::printf("%s: %zu bytes in %.0f ms\n", method, bytes, took * 1e3);
        return took;
    }

    RpcWorld world;
};

TEST_F(FullBlock, IsTheLongestPieceOfWorkOfOneRequest) {
    ASSERT_EQ(world.chain->block(1)->txs.size(), kTxs);
    ASSERT_EQ(world.chain->block(1)->receipts.back().success, true);
    const std::size_t record = world.store.get(ledger::keys::old_pages(1))->size();
    EXPECT_GT(record, kTxs * 60);

    double last = seconds_used(), longest = 0;
    const auto proof = world.chain->prove_account(0, number(7), [&](std::size_t) {
        longest = std::max(longest, seconds_used() - last);
        last = seconds_used();
        return true;
    });
    longest = std::max(longest, seconds_used() - last);
    ASSERT_TRUE(proof);
    EXPECT_TRUE(verify(*proof));
    EXPECT_TRUE(proof->value.empty());
    std::printf("a proof past a record of %zu bytes: longest piece %.0f ms\n", record, longest * 1e3);
    EXPECT_LT(longest, kPieceMax / 4);
    EXPECT_LT(time_of("eth_getBlockByNumber", {"0x1", true}), kPieceMax);
    EXPECT_LT(time_of("eth_getBlockReceipts", {"0x1"}), kPieceMax);
}

}  // namespace
}  // namespace retrace::node::test
