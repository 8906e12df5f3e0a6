// SPDX-License-Identifier: MIT
#include "ledger/chain/build_block.hpp"

#include <algorithm>

#include "ledger/state/supply.hpp"
#include "merkle/base/ensure.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::ledger {
namespace {

std::optional<Hash32> value_hash(View value) {
    if (value.empty()) return std::nullopt;
    return merkle::sha256(value);
}

std::vector<merkle::SparseUpdate> tree_updates(const StateDiff& diff) {
    std::vector<merkle::SparseUpdate> out;
    out.reserve(diff.accounts.size() + diff.slots.size());
    for (const auto& [address, account] : diff.accounts) {
        out.emplace_back(account_leaf_key(address), value_hash(encode(account)));
    }
    for (const auto& [slot, value] : diff.slots) {
        out.emplace_back(slot_leaf_key(slot.contract, slot.key), value_hash(value));
    }
    std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    return out;
}

/// The empty state before genesis.
class EmptyView final : public StateView {
public:
    Account account(const Address&) const override { return {}; }
    Bytes slot(const Address&, View) const override { return {}; }
};

}  // namespace

std::uint64_t encoded_size(const Header& header, const std::vector<BlockTx>& txs) {
    Writer out;
    encode_to(out, header);
    std::uint64_t size = out.data().size();
    for (const BlockTx& tx : txs) size += 4 + tx.bytes().size();
    return size;
}

Result<BlockOutcome, ChainFailure> build_block(const PageSource& source, BlockParts parts) {
    auto change =
        change_tree(source, parts.old_state_root, tree_updates(parts.diff), parts.threads, std::move(parts.prefetch));
    if (!change) {
        return Unexpected{ChainFailure{ChainError::corrupt,
                                       "the state tree is damaged: " + std::string(merkle::slug(change.error()))}};
    }
    std::vector<Hash32> hashes;
    hashes.reserve(parts.txs.size());
    for (const BlockTx& tx : parts.txs) hashes.push_back(tx.hash);
    auto block = std::make_shared<Block>();
    block->header = parts.header;
    block->header.tx_count = static_cast<std::uint32_t>(hashes.size());
    block->header.tx_root = tx_root(hashes);
    block->header.results_root = results_root(parts.executed.system_logs, parts.executed.receipts);
    block->header.state_root = change->root;
    block->header.gas_used = parts.executed.gas_used;
    block->hash = block_hash(block->header);
    block->encoded_size = encoded_size(block->header, parts.txs);
    block->txs = std::move(parts.txs);
    block->receipts = std::move(parts.executed.receipts);
    block->system_logs = std::move(parts.executed.system_logs);
    block->bloom = parts.executed.bloom;
    BlockOutcome out;
    out.block = std::move(block);
    out.diff = std::move(parts.diff);
    out.before = std::move(parts.before);
    out.pages = std::move(change->pages);
    return out;
}

Result<BlockOutcome, ChainFailure> build_genesis(const Store& store, const Genesis& genesis,
                                                 const TxExecutor& executor) {
    const EmptyView nothing;
    State state(nothing);
    for (const auto& [address, balance] : genesis.alloc) {
        ensure(mint(state, address, balance), "a checked genesis mints below 2^256");
    }
    executor.genesis(state, genesis.contracts);
    if (!genesis.validators.empty()) executor.genesis_validators(state, genesis.validators, genesis.validator_rules);
    ensure(supply_conserved(nothing, state), "the contracts' genesis changed the supply");
    ensure(!executor.broken_invariant(nothing, state), "the contracts' genesis breaks none of their invariants");
    BlockParts parts;
    parts.header.time_ns = genesis.time_ns;
    parts.header.base_fee = genesis.base_fee;
    parts.header.gas_limit = genesis.gas_limit;
    parts.diff = state.diff();
    return build_block(PageSource(store), std::move(parts));
}

}  // namespace retrace::ledger
