// SPDX-License-Identifier: MIT
// The signatures of a block's transactions are checked in parallel; the transactions are executed in order, and a bad
// signature is handled as specified: SPEC 5.3.1 and 5.3.3. The threads are observed through the lookup of known
// transactions, which each of them calls first.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "ledger/storage/store.hpp"
#include "tests/unit/ledger/world.hpp"

namespace retrace::ledger {
namespace {

using namespace test;

constexpr std::size_t kTxs = 200, kSenders = 4;  // seven pieces of 32: enough for four threads

/// Knows no transaction, and blocks callers until `threads` different ones have called.
class Lookup {
public:
    explicit Lookup(std::size_t threads) : threads_(threads) {}

    TxPtr operator()(const Hash32& hash) {
        std::unique_lock lock(mutex_);
        ++asked_[hash];
        ids_.insert(std::this_thread::get_id());
        all_came_.notify_all();
        const auto all_came = [&] { return ids_.size() >= threads_ || missing_; };
        missing_ = !all_came_.wait_for(lock, std::chrono::seconds(10), all_came) || missing_;
        return nullptr;
    }
    std::size_t threads_seen() const { return ids_.size(); }
    const std::map<Hash32, int>& asked() const { return asked_; }

private:
    const std::size_t threads_;
    std::mutex mutex_;
    std::condition_variable all_came_;
    bool missing_ = false;  ///< Some threads never came: the test has failed, and the others stop waiting.
    std::set<std::thread::id> ids_;
    std::map<Hash32, int> asked_;
};

/// Records the calls, their order and their threads.
class NotingExecutor final : public TxExecutor {
public:
    bool is_contract(const Address& address) const override { return inner_.is_contract(address); }
    std::uint64_t gas_of(const Address&, View) const override { return 1000; }
    CallResult call(State& state, const BlockContext& block, const Call& call) const override {
        calls.push_back(to_bytes(call.data));
        threads.insert(std::this_thread::get_id());
        return inner_.call(state, block, call);
    }
    CallResult view_call(const StateView& view, const BlockContext& block, const Call& call) const override {
        return inner_.view_call(view, block, call);
    }
    std::vector<Log> begin_block(State& state, const BlockContext& block) const override {
        return inner_.begin_block(state, block);
    }
    void genesis(State& state, View config) const override { inner_.genesis(state, config); }

    mutable std::vector<Bytes> calls;
    mutable std::set<std::thread::id> threads;

private:
    FakeExecutor inner_;
};

/// Every transaction writes its number into the same slot and logs it; the last one wins, so the order is visible.
std::vector<Bytes> calls_of_all_senders() {
    std::vector<Bytes> out;
    std::vector<SecretKey> keys;
    for (std::uint64_t i = 0; i < kSenders; ++i) keys.push_back(key(i));
    for (std::uint64_t i = 0; i < kTxs; ++i) {
        Bytes data = bytes("sk");
        data.push_back(static_cast<std::uint8_t>(i));
        out.push_back(sign_tx(call(i / kSenders, data), keys[i % kSenders])->raw);
    }
    return out;
}

using Spoil = void (*)(Signature&);
/// n - s with the other parity is a valid signature of the same key; Ethereum accepts only the lower of the two.
void make_high(Signature& signature) {
    const U256 order = U256::from_be(*from_hex("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141"));
    signature.s.bytes = (order - U256::from_be(retrace::view(signature.s))).to_be();
    signature.y_parity ^= 1;
}
void make_zero(Signature& signature) { signature.r = Hash32{}; }
void make_anothers(Signature& signature) { signature.y_parity ^= 1; }

struct Played {
    std::shared_ptr<const Block> block;
    std::vector<Bytes> calls;
    Account sender;  ///< Sender of the spoilt transaction.
    Bytes slot;
};

/// Plays the block of `raw` on a new chain with so many threads for signatures.
Played play(const std::vector<Bytes>& raw, std::size_t spoilt, unsigned threads) {
    MemoryStore store;
    NotingExecutor executor;
    auto chain = std::move(*Chain::open(store, make_genesis(), executor, {.threads = threads}));
    executor.calls.clear();
    Lookup lookup(threads);
    const std::vector<View> views(raw.begin(), raw.end());
    const auto outcome = chain->execute_block({.height = 1,
                                               .time_ns = chain->tip()->header.time_ns + 1'000'000'000,
                                               .proposer = number(0xbeef),
                                               .txs = views,
                                               .known = std::ref(lookup)});
    EXPECT_TRUE(outcome && chain->commit(*outcome));
    EXPECT_EQ(lookup.threads_seen(), threads) << "the signatures are shared out among all threads";
    EXPECT_EQ(lookup.asked().size(), raw.size());
    for (const auto& [hash, times] : lookup.asked()) EXPECT_EQ(times, 1) << "every transaction is read once";
    EXPECT_EQ(executor.threads, std::set{std::this_thread::get_id()}) << "rules run on the caller's thread alone";
    const auto view = chain->view();
    return {outcome->block, executor.calls, view->account(key(spoilt % kSenders).address()),
            view->slot(test::kContract, bytes("k"))};
}

class ParallelSignatures : public testing::TestWithParam<std::tuple<Spoil, std::size_t>> {};

TEST_P(ParallelSignatures, OneBadSignatureIsRefusedAlikeOnAnyNumberOfThreads) {
    const auto [spoil, spoilt] = GetParam();
    std::vector<Bytes> raw = calls_of_all_senders();
    DecodedTx bad = *decode_tx(raw[spoilt]);
    spoil(bad.signature);
    raw[spoilt] = encode_signed(bad.tx, bad.signature);

    const bool nobodys = spoil != make_anothers;
    std::optional<Played> first;
    for (const unsigned threads : {1U, 2U, 4U}) {
        SCOPED_TRACE(threads);
        const Played now = play(raw, spoilt, threads);
        ASSERT_EQ(now.block->receipts.size(), kTxs);
        std::vector<Bytes> in_order;
        for (std::size_t i = 0; i < kTxs; ++i) {
            const Receipt& receipt = now.block->receipts[i];
            EXPECT_EQ(now.block->txs[i].bytes().size(), raw[i].size());
            EXPECT_TRUE(equal(now.block->txs[i].bytes(), raw[i])) << "the block keeps its order";
            // Later transactions of the same sender have a nonce that is too high.
            const bool good = i < spoilt || i % kSenders != spoilt % kSenders;
            EXPECT_EQ(receipt.success, good) << i << " " << receipt.revert_reason;
            if (good)
                in_order.push_back(decode_tx(raw[i])->tx.data);
            else
                EXPECT_EQ(receipt.gas_used, 0U) << "it costs nothing";
            const std::string_view why = good ? "" : i > spoilt ? "nonce_too_high" : nobodys ? "malformed" : "";
            EXPECT_TRUE(receipt.revert_reason.starts_with(why)) << i << " " << receipt.revert_reason;
        }
        EXPECT_EQ(now.calls, in_order) << "executed one after the other, as they stand";
        EXPECT_EQ(now.slot, Bytes{static_cast<std::uint8_t>(in_order.back()[2])});
        EXPECT_EQ(now.sender.nonce, spoilt / kSenders) << "the spoilt one takes no nonce";
        if (!first) first = now;
        EXPECT_EQ(now.block->hash, first->block->hash);
        EXPECT_EQ(now.block->header, first->block->header);
        EXPECT_EQ(now.block->receipts, first->block->receipts);
        EXPECT_EQ(now.sender, first->sender);
    }
    EXPECT_EQ(first->block->txs[spoilt].tx == nullptr, nobodys) << "or the transaction of somebody without money";
}

std::string name_of(const testing::TestParamInfo<ParallelSignatures::ParamType>& info) {
    const Spoil spoil = std::get<0>(info.param);
    const char* how = spoil == make_high ? "high_s" : spoil == make_zero ? "zero_r" : "wrong_parity";
    return std::string(how) + "_at_" + std::to_string(std::get<1>(info.param));
}

// The first of all, the last and the first of a piece, one in the middle, and the last of all.
INSTANTIATE_TEST_SUITE_P(Places, ParallelSignatures,
                         testing::Combine(testing::Values(make_high, make_zero, make_anothers),
                                          testing::Values(0, 31, 32, 117, kTxs - 1)),
                         name_of);

TEST(SignaturesOfABlock, NothingIsSpoiltAndEverythingIsDone) {
    const std::vector<Bytes> raw = calls_of_all_senders();
    std::optional<Played> first;
    for (const unsigned threads : {1U, 2U, 4U}) {
        const Played now = play(raw, 0, threads);
        for (const Receipt& receipt : now.block->receipts) EXPECT_TRUE(receipt.success);
        EXPECT_EQ(now.calls.size(), kTxs);
        EXPECT_EQ(now.sender.nonce, kTxs / kSenders);
        if (!first) first = now;
        EXPECT_EQ(now.block->hash, first->block->hash);
    }
}

}  // namespace
}  // namespace retrace::ledger
