// SPDX-License-Identifier: MIT
#include "ledger/block/report_log.hpp"
#include "ledger/chain/block_store.hpp"
#include "ledger/chain/chain.hpp"
#include "ledger/chain/keys.hpp"
#include "ledger/snapshot/state_entries.hpp"

namespace retrace::ledger {
namespace {

constexpr std::size_t kSeedBatch = 10'000;

Unexpected<ChainFailure> differs(const std::string& what) { return {ChainFailure{ChainError::corrupt, what}}; }

Unexpected<ChainFailure> missing(std::uint64_t height) {
    return differs("block " + std::to_string(height) + " is missing or damaged");
}

Status<ChainFailure> compare(const Block& stored, const Block& replayed) {
    const std::string name = "block " + std::to_string(stored.header.height) + ": ";
    if (stored.header != replayed.header) return differs(name + "the header differs from the replay");
    if (stored.hash != replayed.hash) return differs(name + "the hash differs from the replay");
    if (stored.receipts != replayed.receipts) return differs(name + "the receipts differ from the replay");
    if (stored.system_logs != replayed.system_logs) return differs(name + "the system logs differ from the replay");
    if (stored.bloom != replayed.bloom) return differs(name + "the bloom differs from the replay");
    return Unit{};
}

/// Checks that every key with this letter holds the same bytes in both stores.
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

/// Checks a block by itself: its hash, its transactions and its results.
Status<ChainFailure> check_alone(const Block& block) {
    std::vector<Hash32> hashes;
    for (const BlockTx& tx : block.txs) hashes.push_back(tx.hash);
    const Header& header = block.header;
    if (block.hash != block_hash(header) || tx_root(hashes) != header.tx_root ||
        results_root(block.system_logs, block.receipts) != header.results_root)
        return differs("block " + std::to_string(header.height) + " does not agree with its header");
    return Unit{};
}

/// Fills `memory` with the state after block `height` of `store`; the tree is built from its entries.
Status<ChainFailure> seed(const Store& store, std::uint64_t height, const Genesis& genesis, const TxExecutor& executor,
                          MemoryStore& memory) {
    const auto block = load_block(store, height);
    if (!block) return missing(height);
    RETRACE_TRY(builder, StateBuilder::begin(memory));
    std::vector<Entry> entries;
    Status<ChainFailure> outcome = Unit{};
    RETRACE_CHECK(visit_state(store, height, [&](View key, View value) {
        entries.emplace_back(to_bytes(key), to_bytes(value));
        if (entries.size() < kSeedBatch) return true;
        outcome = builder.add(entries);
        entries.clear();
        return outcome.has_value();
    }));
    RETRACE_CHECK(outcome);
    RETRACE_CHECK(builder.add(entries));
    return builder.finish(genesis, executor, *block);
}

/// Returns the height at which the replay begins: genesis, or the oldest block and state if older ones were pruned.
/// Kept blocks below that height are checked by themselves.
Result<std::uint64_t, ChainFailure> replay_start(const Store& store, const TipRecord& tip) {
    if (tip.oldest_block == 0) return std::uint64_t{0};
    const std::uint64_t start = std::max(tip.oldest_block, tip.oldest_state);
    Hash32 parent;
    for (std::uint64_t height = tip.oldest_block; height <= start; ++height) {
        const auto block = load_block(store, height);
        if (!block) return missing(height);
        RETRACE_CHECK(check_alone(*block));
        if (height > tip.oldest_block && block->header.parent != parent)
            return differs("block " + std::to_string(height) + " does not follow the one before it");
        parent = block->hash;
    }
    return start;
}

Status<ChainFailure> replay(Chain& chain, const Block& block) {
    std::vector<View> txs;
    for (const BlockTx& tx : block.txs) txs.push_back(tx.bytes());
    auto report = read_report(block.system_logs);
    if (!report)
        return differs("block " + std::to_string(block.header.height) + ": the engine's report does not decode");
    // No cache of senders is passed: every signature is checked again.
    RETRACE_TRY(outcome, chain.execute_block({.height = block.header.height,
                                              .time_ns = block.header.time_ns,
                                              .proposer = block.header.proposer,
                                              .txs = txs,
                                              .known = {},
                                              .report = std::move(*report)}));
    RETRACE_CHECK(compare(block, *outcome.block));
    return chain.commit(outcome);
}

}  // namespace

Status<ChainFailure> verify_db(const Store& store, const Genesis& genesis, const TxExecutor& executor,
                               const std::function<void(std::uint64_t height)>& progress) {
    const auto tip_record = store.get(keys::tip());
    const auto tip = tip_record ? decode_tip(*tip_record) : std::nullopt;
    if (!tip) return differs("there is no chain");
    RETRACE_TRY(start, replay_start(store, *tip));
    MemoryStore memory;
    if (start > 0) RETRACE_CHECK(seed(store, start, genesis, executor, memory));
    RETRACE_TRY(chain, Chain::open(memory, genesis, executor, {.state_window = 0, .proof_window = 0}));
    for (std::uint64_t height = start; height <= tip->height; ++height) {
        const auto block = load_block(store, height);
        if (!block) return missing(height);
        if (height > start) {
            RETRACE_CHECK(replay(*chain, *block));
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
