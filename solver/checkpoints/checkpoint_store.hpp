// SPDX-License-Identifier: MIT
// Checkpoints on disk. Tensors are files named by their roots, so what did not change between two checkpoints
// is written once; a state is a small manifest of tensor roots. Every file appears by rename after fsync:
// after a crash it is there whole or not at all. Loading recomputes every root.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "kernels/commit/commitment.hpp"
#include "solver/artifacts/artifact_source.hpp"

namespace retrace::solver {

/// State `index` (after step index × interval) of one run of a task.
struct CheckpointKey {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t index = 0;
    auto operator<=>(const CheckpointKey&) const = default;
};

/// Calls may come from several threads.
class CheckpointStore {
public:
    /// Creates the directory if needed, removes unfinished files; a manifest that does not verify is set
    /// aside
    /// (".corrupt") and counts as absent.
    static Result<std::unique_ptr<CheckpointStore>> open(std::filesystem::path directory);

    /// Durable when it returns. Saving the same key again with another root is an error.
    Status<> save(const CheckpointKey& key, const kernels::StateCommitment& commitment,
                  const kernels::State& state);
    /// The roots of a checkpoint; they outlive its tensors.
    std::optional<kernels::StateCommitment> commitment(const CheckpointKey& key) const;
    /// The tensors, each checked against its root. An error names the tensor that is missing or damaged.
    Result<kernels::State> load(const CheckpointKey& key, kernels::ThreadPool& pool) const;
    /// Newest checkpoint of the run at or below `index` whose tensors are there.
    std::optional<CheckpointKey> newest(std::uint64_t task, std::uint32_t run, std::uint64_t index) const;

    /// Keeps the tensors of this checkpoint until released.
    Status<> retain(const CheckpointKey& key, bool keep);
    /// Every checkpoint that is kept.
    std::vector<CheckpointKey> retained() const;
    /// Drops the tensors of all but the newest `keep` and the retained checkpoints of the run; roots stay.
    Status<> prune(std::uint64_t task, std::uint32_t run, std::size_t keep);
    /// Drops the tensors of one checkpoint, damaged ones for example; its roots stay.
    Status<> discard(const CheckpointKey& key);
    /// Forgets a run altogether.
    Status<> forget(std::uint64_t task, std::uint32_t run);

    // For whoever serves artifacts.
    std::optional<StateRoots> state(const Hash32& root) const;
    /// Read and checked; absent or damaged: an error.
    Result<kernels::Tensor> tensor(const Hash32& root, kernels::ThreadPool& pool) const;

private:
    struct Entry {
        kernels::StateCommitment commitment;
        bool complete = true;  ///< Tensors are there.
        bool retained = false;
    };

    explicit CheckpointStore(std::filesystem::path directory) : directory_(std::move(directory)) {}
    Status<> load_index();
    Status<> write_entry(const CheckpointKey& key, const Entry& entry);
    Status<> collect_garbage();
    Result<kernels::Tensor> read_tensor(const Hash32& root, kernels::ThreadPool& pool) const;
    std::filesystem::path path_of(const CheckpointKey& key) const;
    std::filesystem::path path_of(const Hash32& tensor) const;

    std::filesystem::path directory_;
    mutable std::mutex mutex_;
    std::map<CheckpointKey, Entry> entries_;
};

}  // namespace retrace::solver
