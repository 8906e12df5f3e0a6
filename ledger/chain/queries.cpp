// SPDX-License-Identifier: MIT
// The reading side of the chain: thread-safe while blocks are committed.
#include "ledger/chain/block_store.hpp"
#include "ledger/chain/chain_impl.hpp"
#include "ledger/chain/keys.hpp"
#include "ledger/chain/tree_nodes.hpp"
#include "merkle/tree/sparse_tree.hpp"

namespace retrace::ledger {
namespace {

BlockContext context_of(const Header& header, std::uint64_t chain_id) {
    return {.height = header.height,
            .time_s = header.time_s(),
            .chain_id = chain_id,
            .base_fee = header.base_fee,
            .proposer = header.proposer};
}

Unexpected<ChainFailure> not_kept(const char* what, std::uint64_t height) {
    return {ChainFailure{ChainError::not_kept, "header not found: the " + std::string(what) + " of block " +
                                                   std::to_string(height) + " is not kept"}};
}

}  // namespace

const Genesis& Chain::genesis() const noexcept { return impl_->genesis; }
const TxExecutor& Chain::executor() const noexcept { return impl_->executor; }
std::uint64_t Chain::height() const noexcept { return impl_->height; }
std::uint64_t Chain::oldest_state() const noexcept { return impl_->oldest_state; }
std::uint64_t Chain::oldest_proof() const noexcept { return impl_->oldest_pages; }
std::uint64_t Chain::oldest_block() const noexcept { return impl_->oldest_block; }

std::shared_ptr<const Block> Chain::tip() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->tip;
}

U256 Chain::next_base_fee() const {
    const Header header = tip()->header;
    return ledger::next_base_fee(header.base_fee, header.gas_used, header.gas_limit, impl_->genesis.base_fee);
}

const StateView& Chain::live() const noexcept { return impl_->live; }

std::shared_ptr<const StateView> Chain::view() const {
    return std::make_shared<CommittedView>(impl_->store, impl_->writing, impl_->height);
}

Result<std::shared_ptr<const StateView>, ChainFailure> Chain::view_at(std::uint64_t height) const {
    if (height > impl_->height || height < impl_->oldest_state) return not_kept("state", height);
    return std::shared_ptr<const StateView>(std::make_shared<CommittedView>(impl_->store, impl_->writing, height));
}

std::optional<std::vector<Bytes>> Chain::changed_slots(std::uint64_t height, const WorkMeter& meter) const {
    constexpr std::size_t kBytesOfRead = 512;
    if (height > impl_->height) return std::nullopt;
    const auto record = impl_->store.get(keys::changed(height));
    if (!record || (meter && !meter(1 + record->size() / kBytesOfRead))) return std::nullopt;
    const auto changed = decode_keys(*record);
    if (!changed) return std::nullopt;
    const std::uint8_t letter = keys::slot({}, {}).front();
    std::vector<Bytes> out;
    for (const Bytes& key : *changed)
        if (key.front() == letter) out.emplace_back(key.begin() + 1, key.end());
    return out;
}

Result<BlockContext, ChainFailure> Chain::context_at(std::uint64_t height) const {
    const auto found = header(height);
    if (!found) return not_kept("header", height);
    return context_of(*found, impl_->genesis.chain_id);
}

BlockContext Chain::next_context() const {
    Header next = tip()->header;
    next.base_fee = next_base_fee();
    ++next.height;
    return context_of(next, impl_->genesis.chain_id);
}

std::optional<Header> Chain::header(std::uint64_t height) const {
    if (height > impl_->height) return std::nullopt;
    {
        const std::lock_guard lock(impl_->mutex);
        for (const auto& block : impl_->recent) {
            if (block->header.height == height) return block->header;
        }
    }
    const auto record = load_block_record(impl_->store, height);
    return record ? std::optional<Header>(record->header) : std::nullopt;
}

std::uint64_t Chain::block_work(std::uint64_t height) const {
    constexpr std::uint64_t kBytesOfRead = 4096;  // An estimate, not measured: as dear as one small record.
    const auto work = [](std::uint64_t transactions, std::uint64_t bytes) {
        return kBlockWork + transactions + bytes / kBytesOfRead;
    };
    if (height > impl_->height) return 0;
    {
        const std::lock_guard lock(impl_->mutex);
        for (const auto& block : impl_->recent) {
            if (block->header.height == height) return work(block->header.tx_count, block->encoded_size);
        }
    }
    const auto record = load_block_record(impl_->store, height);
    return record ? work(record->header.tx_count, record->encoded_size) : 0;
}

std::shared_ptr<const Block> Chain::block(std::uint64_t height) const {
    if (height > impl_->height) return nullptr;
    {
        const std::lock_guard lock(impl_->mutex);
        for (const auto& block : impl_->recent) {
            if (block->header.height == height) return block;
        }
    }
    return load_block(impl_->store, height);
}

std::optional<std::uint64_t> Chain::height_of(const Hash32& block_hash) const {
    const auto height = load_height(impl_->store, block_hash);
    return height && *height <= impl_->height ? height : std::nullopt;
}

std::optional<Bloom> Chain::bloom(std::uint64_t height) const {
    return height <= impl_->height ? load_bloom(impl_->store, height) : std::nullopt;
}

std::optional<TxRecord> Chain::tx(const Hash32& tx_hash) const {
    auto record = load_tx(impl_->store, tx_hash);
    return record && record->height <= impl_->height ? std::move(record) : std::nullopt;
}

std::optional<TxRecord> Chain::tx(std::uint64_t height, std::uint32_t index) const {
    return height <= impl_->height ? load_tx(impl_->store, height, index) : std::nullopt;
}

Result<StateProof, ChainFailure> Chain::prove_account(std::uint64_t height, const Address& address,
                                                      const WorkMeter& meter) const {
    RETRACE_TRY(view, view_at(height));
    Bytes value = encode(view->account(address));
    if (height < impl_->oldest_state) return not_kept("state", height);
    return prove(height, account_leaf_key(address), std::move(value), meter);
}

Result<StateProof, ChainFailure> Chain::prove_slot(std::uint64_t height, const Address& contract, View key,
                                                   const WorkMeter& meter) const {
    RETRACE_TRY(view, view_at(height));
    Bytes value = view->slot(contract, key);
    if (height < impl_->oldest_state) return not_kept("state", height);
    return prove(height, slot_leaf_key(contract, key), std::move(value), meter);
}

Result<StateProof, ChainFailure> Chain::prove(std::uint64_t height, const Hash32& leaf_key, Bytes value,
                                              const WorkMeter& meter) const {
    constexpr int kTries = 4;
    const auto found = header(height);
    if (!found || height < impl_->oldest_pages) return not_kept("state tree", height);
    bool stopped = false;
    const WorkMeter work = [&](std::size_t size) {
        stopped = stopped || (meter && !meter(size));
        return !stopped;
    };
    // A block that is committed meanwhile replaces nodes during this read. The tree checks every node against its
    // parent, so this shows as a missing or wrong node; the next try undoes the new block's changes as well.
    for (int i = 0; i < kTries && !stopped; ++i) {
        const auto nodes = past_nodes(impl_->store, height, impl_->height, leaf_key, work);
        if (!nodes) continue;
        auto proof = merkle::SparseTree(*nodes, found->state_root).prove(leaf_key);
        if (!proof) continue;
        return StateProof{.height = height,
                          .state_root = found->state_root,
                          .leaf_key = leaf_key,
                          .value = std::move(value),
                          .proof = std::move(*proof)};
    }
    if (stopped) return Unexpected{ChainFailure{ChainError::stopped, "the proof was not finished"}};
    return not_kept("state tree", height);
}

}  // namespace retrace::ledger
