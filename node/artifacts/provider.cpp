// SPDX-License-Identifier: MIT
#include "node/artifacts/provider.hpp"

#include <algorithm>

#include "node/artifacts/tensor_layout.hpp"

namespace retrace::node {

struct CheckpointProvider::Entry {
    kernels::Tensor tensor;
    merkle::TileTree tree;

    kernels::TensorHeader header() const { return {tensor.dtype, tensor.dims, tree.root()}; }
    /// Total memory in bytes: for a tensor of one number the tree and the records are a hundred times the data.
    std::uint64_t bytes() const {
        constexpr std::uint64_t kRecords = 512;
        return tensor.data.size() + 2 * sizeof(Hash32) * kernels::geometry(tensor.dims).tiles() + kRecords;
    }
};

CheckpointProvider::CheckpointProvider(const solver::CheckpointStore& checkpoints, std::uint64_t bytes_max)
    : checkpoints_(checkpoints), bytes_max_(bytes_max) {}

CheckpointProvider::~CheckpointProvider() = default;

void CheckpointProvider::withhold(std::set<Hash32> roots) {
    const std::lock_guard lock(mutex_);
    withheld_ = std::move(roots);
}

std::optional<wire::StateManifest> CheckpointProvider::state(const Hash32& root) const {
    {
        const std::lock_guard lock(mutex_);
        if (withheld_.contains(root)) return std::nullopt;
    }
    auto found = checkpoints_.state(root);
    if (!found) return std::nullopt;
    return wire::StateManifest{found->header.contract, found->header.program, found->header.step,
                               std::move(found->tensor_roots)};
}

CheckpointProvider::Open CheckpointProvider::find(const Hash32& root) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(root);
    if (found == entries_.end()) return nullptr;
    found->second.used = ++clock_;
    return found->second.entry;
}

Result<CheckpointProvider::Open, Failure> CheckpointProvider::open(const Hash32& root) {
    if (Open here = find(root)) return here;
    const std::lock_guard one_at_a_time(loading_);
    if (Open here = find(root)) return here;  // Another thread has loaded it meanwhile.
    auto tensor = checkpoints_.tensor(root, pool_);
    if (!tensor) return failure(Fault::not_found, tensor.error().message);
    const auto entry = std::make_shared<Entry>();
    entry->tree = kernels::tile_tree(*tensor, pool_);
    entry->tensor = std::move(*tensor);
    const std::lock_guard lock(mutex_);
    bytes_ += entry->bytes();
    entries_[root] = {entry, ++clock_};
    trim();
    return Open(entry);
}

void CheckpointProvider::trim() {
    while (bytes_ > bytes_max_ && entries_.size() > 1) {
        const auto oldest = std::min_element(entries_.begin(), entries_.end(), [](const auto& a, const auto& b) {
            return a.second.used < b.second.used;
        });
        bytes_ -= oldest->second.entry->bytes();
        entries_.erase(oldest);
    }
}

std::size_t CheckpointProvider::kept() {
    const std::lock_guard lock(mutex_);
    return entries_.size();
}

Result<wire::TileRange, Failure> CheckpointProvider::tiles(const Hash32& root, std::uint64_t first,
                                                           std::uint64_t count) {
    RETRACE_TRY(entry, open(root));
    return cut_range(entry->header(), entry->tensor.data.data(), entry->tree, first, count);
}

Result<Bytes, Failure> CheckpointProvider::leaves(const Hash32& root, std::uint64_t first, std::uint64_t count) {
    RETRACE_TRY(entry, open(root));
    return cut_leaves(entry->tree, first, count);
}

Result<wire::Info, Failure> CheckpointProvider::info(const Hash32& root) {
    if (const auto manifest = state(root)) {
        return wire::Info{wire::Kind::state, true, 32 * manifest->tensor_roots.size(), {}, {}};
    }
    RETRACE_TRY(entry, open(root));
    return wire::Info{wire::Kind::tensor, true, entry->tensor.data.size(), entry->header(), {}};
}

}  // namespace retrace::node
