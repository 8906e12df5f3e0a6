// SPDX-License-Identifier: MIT
// Checkpoints on disk. Tensors are files named by their roots, so what did not change between two checkpoints
// is written once, and of what changed in part only the changed tiles (tensor_store.hpp); a state is a small
// manifest of tensor roots. Every file appears by rename after fsync: after a crash it is there whole or not
// at all. Loading recomputes every root. With a seal everything is encrypted.
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
#include "solver/checkpoints/tensor_store.hpp"
#include "solver/checkpoints/turn_lock.hpp"

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
    /// With another key than the directory's (or none): an error that says so.
    static Result<std::unique_ptr<CheckpointStore>> open(std::filesystem::path directory,
                                                         std::unique_ptr<Seal> seal = nullptr);

    /// Durable when it returns. Saving the same key again with another root is an error.
    Status<> save(const CheckpointKey& key, const kernels::StateCommitment& commitment,
                  const kernels::State& state);
    /// A checkpoint's roots. That of the state outlives the tensors; those of the tensors do not.
    std::optional<kernels::StateCommitment> commitment(const CheckpointKey& key) const;
    /// The tensors, each checked against its root. An error names the tensor that is missing or damaged.
    Result<kernels::State> load(const CheckpointKey& key, kernels::ThreadPool& pool) const;
    /// Newest checkpoint of the run at or below `index` whose tensors are there.
    std::optional<CheckpointKey> newest(std::uint64_t task, std::uint32_t run, std::uint64_t index) const;

    /// Keeps the tensors of this checkpoint until released.
    Status<> retain(const CheckpointKey& key, bool keep);
    /// Every run of which anything is here, (task, run) ascending.
    std::vector<std::pair<std::uint64_t, std::uint32_t>> runs() const;
    /// Every checkpoint that is kept.
    std::vector<CheckpointKey> retained() const;
    /// Drops the tensors of all but the newest `keep` and the retained checkpoints of the run; the states' roots stay.
    Status<> prune(std::uint64_t task, std::uint32_t run, std::size_t keep);
    /// Drops the tensors of one checkpoint, damaged ones for example; its root stays.
    Status<> discard(const CheckpointKey& key);
    /// Goes back to checkpoint `key`, which must be whole: the tensors of later ones of its run are dropped
    /// unless retained; their roots stay, so that nothing else can be committed in their place.
    Status<> rollback(const CheckpointKey& key);
    /// Forgets a run altogether.
    Status<> forget(std::uint64_t task, std::uint32_t run);

    // For whoever serves artifacts.
    std::optional<StateRoots> state(const Hash32& root) const;
    /// Read and checked; absent or damaged: an error. `tree`: as TensorStore::read.
    Result<kernels::Tensor> tensor(const Hash32& root, kernels::ThreadPool& pool,
                                   merkle::TileTree* tree = nullptr) const;
    /// Root of state tensor `number` in the newest state of a program (by step) whose tensors are here.
    std::optional<Hash32> newest_version(const Hash32& program, std::size_t number) const;
    /// Bytes of tensors written since the store was opened.
    std::uint64_t tensor_bytes_written() const;
    /// How often the disk was waited for meanwhile, for tensors.
    std::uint64_t tensor_syncs() const;

private:
    struct Entry {
        kernels::StateCommitment commitment;
        bool complete = true;  ///< Tensors are there.
        bool retained = false;
    };

    CheckpointStore(std::filesystem::path directory, std::unique_ptr<Seal> seal);
    Status<> load_index();
    Status<> write_entry(const CheckpointKey& key, const Entry& entry);
    Status<> collect_garbage();
    /// The roots of the newest whole checkpoint of the run below `key`: what a restart left to write changes against.
    std::vector<TensorVersion> versions_before(const CheckpointKey& key) const;
    /// Drops the tensors of an entry, which stays for its root.
    Status<> drop(const CheckpointKey& key, Entry& entry);
    std::filesystem::path path_of(const CheckpointKey& key) const;

    std::filesystem::path directory_;
    std::unique_ptr<Seal> seal_;
    std::unique_ptr<TensorStore> tensors_;
    /// What was saved last of each run, by tensor number, to write changes against.
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::vector<TensorVersion>> last_;
    mutable TurnLock mutex_;  ///< Strangers read here too.
    std::map<CheckpointKey, Entry> entries_;
};

}  // namespace retrace::solver
