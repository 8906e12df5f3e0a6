// SPDX-License-Identifier: MIT
// Caches the tensors and trees that answers to reports are made of, so that any number of reports about one state load
// and hash it once.
#pragma once

#include <list>
#include <optional>

#include "solver/artifacts/availability.hpp"
#include "solver/checkpoints/checkpoint_store.hpp"

namespace retrace::solver {

/// LRU cache of state tensors with their trees, and of trees of data sets and states, keyed by root. Used by the worker
/// only. Its owner sets the memory limit.
class AnswerCache {
public:
    /// Proves tile `tile` of tensor `tensor` of a checkpoint whose tensors are in `store`. The error names what is
    /// missing.
    Result<TileAnswer> state_tile(const CheckpointStore& store, const CheckpointKey& key,
                                  const kernels::ProgramHeader& program, std::uint32_t tensor, std::uint64_t tile,
                                  kernels::ThreadPool& pool);
    /// Proves a tile of a data set that is in memory; caches its tree under its root.
    TileAnswer data_tile(const kernels::Tensor& data, const Hash32& root, std::uint64_t tile,
                         kernels::ThreadPool& pool);

    std::uint64_t bytes() const noexcept { return bytes_; }
    /// Evicts the least recently used entries until at most `memory` bytes are cached.
    void keep_within(std::uint64_t memory);
    void clear() { keep_within(0); }

private:
    struct Entry {
        Hash32 root;
        std::optional<kernels::Tensor> tensor;  ///< None for a data set (the task holds it) and for a state's tree.
        merkle::TileTree tree;
        std::uint64_t bytes() const;
    };
    Entry* find(const Hash32& root);
    Entry& add(Entry entry);

    std::list<Entry> entries_;  ///< Most recently used first.
    std::uint64_t bytes_ = 0;
};

}  // namespace retrace::solver
