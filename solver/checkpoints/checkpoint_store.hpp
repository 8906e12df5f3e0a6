// SPDX-License-Identifier: MIT
// Checkpoints on disk. Tensors are files named by their roots, so an unchanged tensor is written once for several
// checkpoints, and a partly changed one as its changed tiles (tensor_store.hpp); a state is a small manifest of tensor
// roots. Every file appears by rename after fsync, so after a crash it is complete or absent. Loading recomputes every
// root. With a seal everything is encrypted. Of a state that is dropped its numbers stay, tensors of one element such as
// the loss of its last step, so that a curve can still be fetched and compared with the roots.
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
#include "solver/checkpoints/tensor_parts.hpp"
#include "solver/checkpoints/tensor_store.hpp"
#include "solver/checkpoints/ticket_lock.hpp"

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
    /// Creates the directory if needed and removes unfinished files. A manifest that does not verify is renamed
    /// (".corrupt") and counts as absent. Returns an error if `seal` has another key than the directory, or only one of
    /// them has a key.
    static Result<std::unique_ptr<CheckpointStore>> open(std::filesystem::path directory,
                                                         std::unique_ptr<Seal> seal = nullptr);

    /// Saves a checkpoint durably. Saving the same key again with another root is an error.
    Status<> save(const CheckpointKey& key, const kernels::StateCommitment& commitment, const kernels::State& state);
    /// A checkpoint's roots. The state root is kept after the tensors are dropped; the tensor roots are not.
    std::optional<kernels::StateCommitment> commitment(const CheckpointKey& key) const;
    /// Loads the tensors and checks each against its root. The error names a missing or damaged tensor.
    Result<kernels::State> load(const CheckpointKey& key, kernels::ThreadPool& pool) const;
    /// Newest checkpoint of the run at or below `index` whose tensors were not dropped.
    std::optional<CheckpointKey> newest(std::uint64_t task, std::uint32_t run, std::uint64_t index) const;

    /// Protects the tensors of this checkpoint from being dropped (`keep`), or releases them.
    Status<> retain(const CheckpointKey& key, bool keep);
    /// Every run with a checkpoint or root in the store, (task, run) ascending.
    std::vector<std::pair<std::uint64_t, std::uint32_t>> runs() const;
    /// Every retained checkpoint.
    std::vector<CheckpointKey> retained() const;
    /// Runs keep the numbers of so many dropped states, the newest.
    static constexpr std::size_t kNumbersMax = 256;
    /// Drops the tensors of all checkpoints of the run but the newest `keep` and the retained ones; state roots stay, and
    /// the numbers of the newest.
    Status<> prune(std::uint64_t task, std::uint32_t run, std::size_t keep);
    /// Drops the tensors of one checkpoint, for example damaged ones; its state root stays.
    Status<> discard(const CheckpointKey& key);
    /// Deletes a checkpoint with its state root, so that another state may be saved in its place. Only for a state that
    /// can no longer be committed to: a party that commits to two states of one index loses its stake.
    Status<> withdraw(const CheckpointKey& key);
    /// Goes back to checkpoint `key`, whose tensors must be there: drops the tensors of later checkpoints of its run
    /// unless retained. Their state roots stay, so that no other states can be committed in their place.
    Status<> rollback(const CheckpointKey& key);
    /// Deletes all data of a run.
    Status<> forget(std::uint64_t task, std::uint32_t run);

    // For serving artifacts.
    /// The names of a state's tensors, also if only its numbers are left.
    std::optional<StateRoots> state(const Hash32& root) const;
    /// Whether a state of another program than these names the tensor.
    bool has_beside(const std::set<Hash32>& programs, const Hash32& tensor) const;
    /// Reads and checks a tensor; an absent or damaged one is an error. `tree` as in TensorStore::read.
    Result<kernels::Tensor> tensor(const Hash32& root, kernels::ThreadPool& pool,
                                   merkle::TileTree* tree = nullptr) const;
    /// A tensor whose tiles are read from its files range by range. Reads and checks it once, without the lock, so that
    /// nobody else waits. A damaged one is removed, as by `tensor`. The store outlives the result.
    Result<TensorParts, StoreProblem> parts(const Hash32& root) const;
    /// Root of state tensor `number` in the newest state of a program (by step) whose tensors are here.
    std::optional<Hash32> newest_version(const Hash32& program, std::size_t number) const;
    /// Bytes of tensors written since the store was opened.
    std::uint64_t tensor_bytes_written() const;
    /// Number of syncs to disk for tensors since the store was opened.
    std::uint64_t tensor_syncs() const;

private:
    struct Entry {
        kernels::StateCommitment commitment;
        bool complete = true;  ///< False once its tensors are dropped.
        bool retained = false;
        std::vector<std::uint32_t> numbers;  ///< Its tensors of one element, which are here also if it is not complete.
    };

    CheckpointStore(std::filesystem::path directory, std::unique_ptr<Seal> seal);
    Status<> load_index();
    Status<> write_entry(const CheckpointKey& key, const Entry& entry);
    Status<> collect_garbage();
    /// Tensor roots of the newest complete checkpoint of the run below `key`: the bases for deltas after a restart.
    std::vector<TensorVersion> versions_before(const CheckpointKey& key) const;
    /// Drops the tensors of an entry and keeps the entry for its state root, and with `numbers` for these.
    Status<> drop(const CheckpointKey& key, Entry& entry, bool numbers = false);
    /// Drops the numbers of the run's dropped states but the newest.
    Status<> limit_numbers(std::uint64_t task, std::uint32_t run);
    std::filesystem::path path_of(const CheckpointKey& key) const;

    std::filesystem::path directory_;
    std::unique_ptr<Seal> seal_;
    std::unique_ptr<TensorStore> tensors_;
    /// Tensor versions of each run that were saved last, by tensor number: the bases for deltas.
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::vector<TensorVersion>> last_;
    mutable TicketLock mutex_;  ///< Fair, because requests of strangers read the store too.
    std::map<CheckpointKey, Entry> entries_;
};

}  // namespace retrace::solver
