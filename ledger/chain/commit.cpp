// SPDX-License-Identifier: MIT
#include "ledger/chain/commit.hpp"

#include <algorithm>

#include "ledger/chain/block_store.hpp"
#include "ledger/chain/keys.hpp"

namespace retrace::ledger {
namespace {

/// Heights whose records one commit removes: more than one, so that pruning catches up after a window was reduced.
constexpr std::uint64_t kPruneMax = 4;

struct Change {
    Bytes key;
    Bytes value;  // empty: removed
};

std::vector<Change> changes_of(const StateDiff& diff) {
    std::vector<Change> out;
    out.reserve(diff.accounts.size() + diff.slots.size());
    for (const auto& [address, account] : diff.accounts) out.push_back({keys::account(address), encode(account)});
    for (const auto& [slot, value] : diff.slots) out.push_back({keys::slot(slot.contract, slot.key), value});
    return out;
}

void put_or_erase(Batch& batch, Bytes key, Bytes value) {
    if (value.empty()) {
        batch.erase(std::move(key));
    } else {
        batch.put(std::move(key), std::move(value));
    }
}

/// Writes the complete undo information of the batch before any change of a value.
void put_undo(Batch& batch, std::uint64_t height, const BlockOutcome& outcome) {
    std::vector<Bytes> changed;
    for (Change& change : changes_of(outcome.before)) {
        batch.put(keys::undo(change.key, height), std::move(change.value));
        changed.push_back(std::move(change.key));
    }
    batch.put(keys::changed(height), encode_keys(changed));
    batch.put(keys::old_pages(height), encode_patches(outcome.pages));
}

std::uint64_t window_start(std::uint64_t height, std::uint64_t window) { return height > window ? height - window : 0; }

void erase_undo(Batch& batch, const Store& store, std::uint64_t height) {
    const auto record = store.get(keys::changed(height));
    const auto changed = record ? decode_keys(*record) : std::nullopt;
    if (changed) {
        for (const Bytes& key : *changed) batch.erase(keys::undo(key, height));
    }
    batch.erase(keys::changed(height));
}

void prune(Batch& batch, const Store& store, TipRecord& tip, const ChainOptions& options) {
    for (std::uint64_t i = 0; i < kPruneMax && tip.oldest_state < window_start(tip.height, options.state_window); ++i) {
        erase_undo(batch, store, ++tip.oldest_state);
    }
    for (std::uint64_t i = 0; i < kPruneMax && tip.oldest_pages < window_start(tip.height, options.proof_window); ++i) {
        batch.erase(keys::old_pages(++tip.oldest_pages));
    }
    if (options.block_window == 0) return;
    // At least two blocks: when a torn batch is undone, the previous tip still needs its parent.
    const std::uint64_t window = std::max<std::uint64_t>(options.block_window, 2);
    for (std::uint64_t i = 0; i < kPruneMax && tip.oldest_block < window_start(tip.height, window); ++i) {
        if (tip.oldest_block > 0) erase_block(batch, store, tip.oldest_block);  // block 0 identifies the chain
        ++tip.oldest_block;
    }
}

ChainFailure torn(const char* what) {
    return {ChainError::corrupt, std::string("a write was torn and cannot be taken back: ") + what};
}

Status<ChainFailure> plan_undo(Batch& batch, const Store& store, std::uint64_t height) {
    const auto changed_record = store.get(keys::changed(height));
    const auto changed = changed_record ? decode_keys(*changed_record) : std::nullopt;
    if (!changed) return Unexpected{torn("the list of changed keys is missing")};
    for (const Bytes& key : *changed) {
        auto before = store.get(keys::undo(key, height));
        if (!before) return Unexpected{torn("an undo record is missing")};
        put_or_erase(batch, key, std::move(*before));
    }
    const auto pages_record = store.get(keys::old_pages(height));
    const auto patches = pages_record ? decode_patches(*pages_record) : std::nullopt;
    if (!patches) return Unexpected{torn("the undo records of the state tree are missing")};
    for (const auto& [page_key, patch] : *patches) {
        const Bytes key = keys::page(page_key);
        auto page = decode_page(store.get(key).value_or(Bytes{}));
        if (page) page = patched(std::move(*page), patch);
        if (!page) return Unexpected{torn("an undo record of the state tree does not fit")};
        put_or_erase(batch, key, encode_page(*page));
    }
    return Unit{};
}

/// Erases the remaining parts of blocks that the torn batch erased in part. A block's hash entry is erased first, so
/// its absence marks such a block.
void forget_torn_blocks(Batch& batch, const Store& store, TipRecord& tip) {
    for (std::uint64_t height = std::max<std::uint64_t>(tip.oldest_block, 1); height < tip.height; ++height) {
        const auto block = load_block(store, height);
        if (block && load_height(store, block->hash) == height) return;
        erase_block(batch, store, height);
        tip.oldest_block = height + 1;
    }
}

}  // namespace

CommitPlan plan_commit(const Store& store, const BlockOutcome& outcome, const std::optional<TipRecord>& old,
                       const ChainOptions& options) {
    const Block& block = *outcome.block;
    const std::uint64_t height = block.header.height;
    CommitPlan plan;
    plan.tip = old.value_or(TipRecord{});
    plan.tip.height = height;
    plan.tip.hash = block.hash;
    Batch& batch = plan.batch;
    std::vector<Change> changes = changes_of(outcome.diff);
    batch.ops.reserve(3 * changes.size() + outcome.pages.size() + 2 * block.txs.size() + 16);
    batch.put(keys::writing(), keys::be64(height));
    if (old) put_undo(batch, height, outcome);
    batch.put(keys::undoable(), keys::be64(height));
    for (Change& change : changes) put_or_erase(batch, std::move(change.key), std::move(change.value));
    for (const PageChange& change : outcome.pages) put_or_erase(batch, keys::page(change.key), change.page);
    put_block(batch, block);
    prune(batch, store, plan.tip, options);
    batch.put(keys::tip(), encode(plan.tip));
    return plan;
}

Result<std::optional<TipRecord>, ChainFailure> repair(Store& store) {
    const auto tip_record = store.get(keys::tip());
    if (!tip_record) return std::optional<TipRecord>{};
    auto tip = decode_tip(*tip_record);
    if (!tip) return Unexpected{ChainFailure{ChainError::corrupt, "the record of the tip does not decode"}};
    const Bytes done = keys::be64(tip->height);
    if (store.get(keys::writing()) == done) return tip;
    const Bytes begun = keys::be64(tip->height + 1);
    if (store.get(keys::writing()) != begun) return Unexpected{torn("it does not follow the tip")};
    Batch batch;
    if (store.get(keys::undoable()) == begun) {
        RETRACE_CHECK(plan_undo(batch, store, tip->height + 1));
        // The torn batch may have pruned part of these records.
        tip->oldest_state = std::min(tip->oldest_state + kPruneMax, tip->height);
        tip->oldest_pages = std::min(tip->oldest_pages + kPruneMax, tip->height);
        forget_torn_blocks(batch, store, *tip);
    }
    batch.put(keys::undoable(), done);
    batch.put(keys::tip(), encode(*tip));
    batch.put(keys::writing(), done);
    if (const auto written = store.write(batch, true); !written) {
        return Unexpected{ChainFailure{ChainError::store_failed, written.error().message}};
    }
    return tip;
}

}  // namespace retrace::ledger
