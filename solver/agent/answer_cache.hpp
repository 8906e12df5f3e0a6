// SPDX-License-Identifier: MIT
// What answers to reports are made of, kept between them: as many reports about one state as there are load and hash
// it once.
#pragma once

#include <list>
#include <optional>

#include "solver/artifacts/availability.hpp"
#include "solver/checkpoints/checkpoint_store.hpp"

namespace retrace::solver {

/// Tensors of states with their trees, trees of data sets and of states, all by their roots. Belongs to the worker.
/// Whoever owns it says how much memory it may keep.
class AnswerCache {
public:
    /// Tile `tile` of tensor `tensor` of a checkpoint that is whole in `store`. An error says what is not there.
    Result<TileAnswer> state_tile(const CheckpointStore& store, const CheckpointKey& key,
                                  const kernels::ProgramHeader& program, std::uint32_t tensor, std::uint64_t tile,
                                  kernels::ThreadPool& pool);
    /// The same of a data set that is in memory; its tree is kept under its root.
    TileAnswer data_tile(const kernels::Tensor& data, const Hash32& root, std::uint64_t tile,
                         kernels::ThreadPool& pool);

    std::uint64_t bytes() const noexcept { return bytes_; }
    /// Drops what was used longest ago until it fits.
    void keep_within(std::uint64_t memory);
    void clear() { keep_within(0); }

private:
    struct Entry {
        Hash32 root;
        std::optional<kernels::Tensor> tensor;  ///< None for a data set, which its task has.
        merkle::TileTree tree;
        std::uint64_t bytes() const;
    };
    Entry* find(const Hash32& root);
    Entry& add(Entry entry);

    std::list<Entry> entries_;  ///< The newest first.
    std::uint64_t bytes_ = 0;
};

}  // namespace retrace::solver
