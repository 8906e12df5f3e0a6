// SPDX-License-Identifier: MIT
#include "node/artifacts/shelf.hpp"

#include <algorithm>

#include "node/artifacts/tensor_layout.hpp"

namespace retrace::node {

struct CheckpointShelf::Entry {
    kernels::Tensor tensor;
    merkle::TileTree tree;
    std::uint64_t used = 0;

    kernels::TensorHeader header() const { return {tensor.dtype, tensor.dims, tree.root()}; }
};

CheckpointShelf::CheckpointShelf(const solver::CheckpointStore& checkpoints, std::uint64_t bytes_max)
    : checkpoints_(checkpoints), bytes_max_(bytes_max) {}

CheckpointShelf::~CheckpointShelf() = default;

std::optional<wire::StateManifest> CheckpointShelf::state(const Hash32& root) const {
    auto found = checkpoints_.state(root);
    if (!found) return std::nullopt;
    return wire::StateManifest{found->header.contract, found->header.program, found->header.step,
                               std::move(found->tensor_roots)};
}

Result<const CheckpointShelf::Entry*, Failure> CheckpointShelf::open(const Hash32& root) {
    if (const auto found = entries_.find(root); found != entries_.end()) {
        found->second->used = ++clock_;
        return found->second.get();
    }
    auto tensor = checkpoints_.tensor(root, pool_);
    if (!tensor) return failure(Fault::not_found, tensor.error().message);
    auto entry = std::make_unique<Entry>();
    entry->tree = kernels::tile_tree(*tensor, pool_);
    entry->tensor = std::move(*tensor);
    entry->used = ++clock_;
    bytes_ += entry->tensor.data.size();
    const Entry* const out = entry.get();
    entries_.emplace(root, std::move(entry));
    trim();
    return out;
}

void CheckpointShelf::trim() {
    while (bytes_ > bytes_max_ && entries_.size() > 1) {
        const auto oldest =
            std::min_element(entries_.begin(), entries_.end(),
                             [](const auto& a, const auto& b) { return a.second->used < b.second->used; });
        bytes_ -= oldest->second->tensor.data.size();
        entries_.erase(oldest);
    }
}

Result<wire::TileRange, Failure> CheckpointShelf::tiles(const Hash32& root, std::uint64_t first,
                                                        std::uint64_t count) {
    const std::lock_guard lock(mutex_);
    RETRACE_TRY(entry, open(root));
    return cut_range(entry->header(), entry->tensor.data.data(), entry->tree, first, count);
}

Result<Bytes, Failure> CheckpointShelf::leaves(const Hash32& root, std::uint64_t first, std::uint64_t count) {
    const std::lock_guard lock(mutex_);
    RETRACE_TRY(entry, open(root));
    return cut_leaves(entry->tree, first, count);
}

Result<wire::Info, Failure> CheckpointShelf::info(const Hash32& root) {
    if (const auto manifest = state(root)) {
        return wire::Info{wire::Kind::state, true, 32 * manifest->tensor_roots.size(), {}, {}};
    }
    const std::lock_guard lock(mutex_);
    RETRACE_TRY(entry, open(root));
    return wire::Info{wire::Kind::tensor, true, entry->tensor.data.size(), entry->header(), {}};
}

}  // namespace retrace::node
