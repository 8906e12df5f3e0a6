// SPDX-License-Identifier: MIT
#include "ledger/chain/block_store.hpp"
#include "ledger/chain/chain.hpp"
#include "ledger/chain/keys.hpp"

namespace retrace::ledger {
namespace {

Unexpected<ChainFailure> differs(const std::string& what) {
    return {ChainFailure{ChainError::corrupt, what}};
}

Status<ChainFailure> compare(const Block& stored, const Block& replayed) {
    const std::string name = "block " + std::to_string(stored.header.height) + ": ";
    if (stored.header != replayed.header) return differs(name + "the header differs from the replay");
    if (stored.hash != replayed.hash) return differs(name + "the hash differs from the replay");
    if (stored.receipts != replayed.receipts) return differs(name + "the receipts differ from the replay");
    if (stored.system_logs != replayed.system_logs)
        return differs(name + "the system logs differ from the replay");
    if (stored.bloom != replayed.bloom) return differs(name + "the bloom differs from the replay");
    return Unit{};
}

/// Every key with this letter holds the same bytes in both stores.
Status<ChainFailure> compare_keys(const Store& stored, const Store& replayed, char letter, const char* what) {
    const Bytes prefix{static_cast<std::uint8_t>(letter)};
    constexpr std::size_t kNoLimit = ~std::size_t{0};
    std::uint64_t count = 0;
    bool same = true;
    stored.scan(prefix, prefix, kNoLimit, [&](View key, View value) {
        ++count;
        const auto other = replayed.get(key);
        same = other && equal(*other, value);
        return same;
    });
    std::uint64_t other_count = 0;
    replayed.scan(prefix, prefix, kNoLimit, [&](View, View) { return ++other_count, true; });
    if (!same || count != other_count) return differs(std::string(what) + " differ from the replay");
    return Unit{};
}

}  // namespace

Status<ChainFailure> verify_db(const Store& store, const Genesis& genesis, const TxExecutor& executor,
                               const std::function<void(std::uint64_t height)>& progress) {
    const auto tip_record = store.get(keys::tip());
    const auto tip = tip_record ? decode_tip(*tip_record) : std::nullopt;
    if (!tip) return differs("there is no chain");
    MemoryStore memory;
    RETRACE_TRY(chain, Chain::open(memory, genesis, executor, {.state_window = 0, .proof_window = 0}));
    for (std::uint64_t height = 0; height <= tip->height; ++height) {
        const auto block = load_block(store, height);
        if (!block) return differs("block " + std::to_string(height) + " is missing or damaged");
        if (height > 0) {
            std::vector<View> txs;
            for (const BlockTx& tx : block->txs) txs.push_back(tx.bytes());
            // No cache of senders is passed: every signature is checked again.
            RETRACE_TRY(outcome, chain->execute_block({.height = height,
                                                       .time_ns = block->header.time_ns,
                                                       .proposer = block->header.proposer,
                                                       .txs = txs,
                                                       .known = {}}));
            RETRACE_CHECK(compare(*block, *outcome.block));
            RETRACE_CHECK(chain->commit(outcome));
        } else {
            RETRACE_CHECK(compare(*block, *chain->tip()));
        }
        if (progress) progress(height);
    }
    RETRACE_CHECK(compare_keys(store, memory, 'a', "accounts"));
    RETRACE_CHECK(compare_keys(store, memory, 's', "slots of contracts"));
    return compare_keys(store, memory, 'n', "pages of the state tree");
}

}  // namespace retrace::ledger
