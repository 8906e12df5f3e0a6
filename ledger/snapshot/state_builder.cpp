// SPDX-License-Identifier: MIT
#include <algorithm>

#include "ledger/chain/block_store.hpp"
#include "ledger/chain/build_block.hpp"
#include "ledger/chain/keys.hpp"
#include "ledger/chain/paged_tree.hpp"
#include "ledger/chain/records.hpp"
#include "ledger/snapshot/state_entries.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::ledger {
namespace {

constexpr std::size_t kClearBatch = 10'000;

Unexpected<ChainFailure> bad(const std::string& what) { return {ChainFailure{ChainError::bad_snapshot, what}}; }

Status<ChainFailure> write(Store& store, const Batch& batch) {
    if (const auto written = store.write(batch, true); !written)
        return Unexpected{ChainFailure{ChainError::store_failed, written.error().message}};
    return Unit{};
}

Status<ChainFailure> clear(Store& store, char letter) {
    const Bytes prefix{static_cast<std::uint8_t>(letter)};
    // Each scan goes on after the last one: from the beginning it would pass all keys that are deleted and not yet gone.
    for (Bytes from = prefix;;) {
        Batch batch;
        store.scan(prefix, from, kClearBatch, [&](View key, View) {
            batch.erase(to_bytes(key));
            return true;
        });
        if (batch.ops.empty()) return Unit{};
        from = batch.ops.back().key;
        RETRACE_CHECK(write(store, batch));
    }
}

/// The leaf key of an entry; nullopt if it is not a valid entry of a state.
std::optional<Hash32> leaf_key(const Bytes& key, View value) {
    constexpr std::size_t kAddress = 20;
    if (key.size() < 1 + kAddress || value.empty()) return std::nullopt;
    const Address address = address_of_bytes(View(key).subspan(1, kAddress));
    if (key[0] == 'a') {
        if (key.size() != 1 + kAddress || !decode_account(value)) return std::nullopt;
        return account_leaf_key(address);
    }
    if (key[0] == 's') return slot_leaf_key(address, View(key).subspan(1 + kAddress));
    return std::nullopt;
}

}  // namespace

Result<StateBuilder, ChainFailure> StateBuilder::begin(Store& store) {
    if (store.get(keys::tip()) && !store.get(keys::unfinished()))
        return bad("the data directory holds a chain already");
    Batch mark;
    mark.put(keys::unfinished(), {1});
    for (const Bytes& key : {keys::tip(), keys::writing(), keys::undoable(), keys::genesis(), keys::format()})
        mark.erase(key);
    RETRACE_CHECK(write(store, mark));
    for (const char letter : {'a', 's', 'n', 'b', 'h', 'l', 'x', 't'}) RETRACE_CHECK(clear(store, letter));
    return StateBuilder(store);
}

Status<ChainFailure> StateBuilder::add(const std::vector<Entry>& entries) {
    std::vector<merkle::SparseUpdate> updates;
    updates.reserve(entries.size());
    Batch batch;
    for (const auto& [key, value] : entries) {
        const auto leaf = leaf_key(key, value);
        if (!leaf) return bad("an entry is neither an account nor a slot");
        if (key <= last_key_) return bad("the entries do not ascend");
        last_key_ = key;
        ++(key[0] == 'a' ? accounts_ : slots_);
        updates.emplace_back(*leaf, merkle::sha256(value));
        batch.put(key, value);
    }
    std::sort(updates.begin(), updates.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    auto change = change_tree(PageSource(*store_), root_, updates);
    if (!change) return bad("the state tree cannot be built: " + std::string(merkle::slug(change.error())));
    for (PageChange& changed : change->pages) {
        if (changed.page.empty()) {
            batch.erase(keys::page(changed.key));
        } else {
            batch.put(keys::page(changed.key), std::move(changed.page));
        }
    }
    RETRACE_CHECK(write(*store_, batch));
    root_ = change->root;
    return Unit{};
}

Status<ChainFailure> StateBuilder::finish(const Genesis& genesis, const TxExecutor& executor, const Block& block) {
    const Header& header = block.header;
    if (header.state_root != root_)
        return bad("the state is not the one that block " + std::to_string(header.height) + " commits to");
    Batch batch;
    MemoryStore beginning;
    RETRACE_TRY(first, build_genesis(beginning, genesis, executor));
    put_block(batch, *first.block);
    if (header.height > 0) batch.put(keys::block_hash(header.parent), keys::be64(header.height - 1));
    put_block(batch, block);
    batch.put(keys::genesis(), to_bytes(view(genesis_hash(genesis))));
    batch.put(keys::format(), {kFormatVersion});
    batch.put(keys::writing(), keys::be64(header.height));
    batch.put(keys::undoable(), keys::be64(header.height));
    batch.put(keys::tip(), encode(TipRecord{.height = header.height,
                                            .hash = block.hash,
                                            .oldest_state = header.height,
                                            .oldest_pages = header.height,
                                            .oldest_block = header.height}));
    batch.erase(keys::unfinished());  // last: a batch that is torn before this counts as an interrupted import
    return write(*store_, batch);
}

}  // namespace retrace::ledger
