// SPDX-License-Identifier: MIT
#include "solver/agent/answer_cache.hpp"

#include <algorithm>
#include <new>

namespace retrace::solver {

/// A tree with all its levels has about two hashes for each leaf.
std::uint64_t AnswerCache::Entry::bytes() const {
    return 2 * tree.leaf_count() * sizeof(Hash32) + (tensor ? tensor->data.size() : 0);
}

AnswerCache::Entry* AnswerCache::find(const Hash32& root) {
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.root == root; });
    if (found == entries_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found);
    return &entries_.front();
}

AnswerCache::Entry& AnswerCache::add(Entry entry) {
    bytes_ += entry.bytes();
    entries_.push_front(std::move(entry));
    return entries_.front();
}

void AnswerCache::keep_within(std::uint64_t memory) {
    while (bytes_ > memory || (memory == 0 && !entries_.empty())) {
        bytes_ -= entries_.back().bytes();
        entries_.pop_back();
    }
}

Result<TileAnswer> AnswerCache::state_tile(const CheckpointStore& store, const CheckpointKey& key,
                                           const kernels::ProgramHeader& program, std::uint32_t tensor,
                                           std::uint64_t tile, kernels::ThreadPool& pool) {
    const auto commitment = store.commitment(key);
    if (!commitment || store.newest(key.task, key.run, key.index) != key) return error("no such checkpoint");
    const std::vector<Hash32>& roots = commitment->tensor_roots;
    if (roots.empty()) return answer_empty_state(program, *commitment);
    const std::uint64_t shown = tensor < roots.size() ? tensor : 0;
    Entry* whole = find(roots[shown]);
    if (whole == nullptr || !whole->tensor) {
        merkle::TileTree tree;
        const auto load = [&] { return store.tensor(roots[shown], pool, &tree); };
        const auto load_with_all_memory = [&] {
            try {
                return load();
            } catch (const std::bad_alloc&) {
                clear();
                return load();
            }
        };
        RETRACE_TRY(loaded, load_with_all_memory());
        whole = &add({roots[shown], std::move(loaded), std::move(tree)});
    }
    TileAnswer answer = answer_tensor_tile(*whole->tensor, whole->tree, shown == tensor ? tile : 0);
    const Entry* state = find(commitment->root);
    if (state == nullptr) state = &add({commitment->root, std::nullopt, commitment->tree()});
    answer.state = TileAnswer::InState{commitment->header, program, state->tree.prove({&shown, 1})};
    return answer;
}

TileAnswer AnswerCache::data_tile(const kernels::Tensor& data, const Hash32& root, std::uint64_t tile,
                                  kernels::ThreadPool& pool) {
    const Entry* entry = find(root);
    if (entry == nullptr) entry = &add({root, std::nullopt, kernels::tile_tree(data, pool)});
    return answer_tensor_tile(data, entry->tree, tile);
}

}  // namespace retrace::solver
