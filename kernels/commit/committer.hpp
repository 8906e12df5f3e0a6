// SPDX-License-Identifier: MIT
// Commitments of one training after another: only tiles that changed are hashed again, and the hashing may go
// on beside the next steps, on a copy.
#pragma once

#include <exception>
#include <thread>

#include "kernels/commit/commitment.hpp"

namespace retrace::kernels {

/// Keeps a copy of the last state, the hashes of its tiles and the list of those that changed (40 bytes for 4 KiB).
/// What a step wrote is found by comparison with the copy, tile by tile, so it does not matter which op wrote it;
/// tensors that no op writes are not even compared.
class StateCommitter {
public:
    /// `program` outlives the committer. `threads` hash beside the training.
    StateCommitter(const Program& program, const Hash32& program_root, unsigned threads = 1);
    ~StateCommitter();
    /// Bytes that a committer of this program's states takes, once one was begun.
    static std::uint64_t planned_bytes(const Program& program);
    StateCommitter(const StateCommitter&) = delete;
    StateCommitter& operator=(const StateCommitter&) = delete;

    /// Takes what changed in `state` (of the program's shapes, asserted), which may be trained on as soon as
    /// this returns, and starts hashing it. `pool` compares and copies. None may be under way.
    void begin(const State& state, ThreadPool& pool);
    bool under_way() const noexcept { return worker_.joinable(); }
    /// Waits for what `begin` started: commit_state's result of that state. What was thrown meanwhile is thrown here;
    /// the next `begin` hashes everything then, as that after a `begin` that threw.
    StateCommitment finish();
    /// The state of the last `begin`.
    const State& state() const noexcept { return kept_; }
    /// Tiles that the last commitment hashed.
    std::uint64_t tiles_hashed() const noexcept { return hashed_; }

private:
    struct Kept {
        std::vector<Hash32> leaves;
        std::vector<std::uint64_t> changed;  ///< Tiles, ascending, of the commitment under way.
        Hash32 root;
    };
    void take(const Tensor& from, Tensor& to, Kept& kept, ThreadPool& pool) const;
    void hash();
    void forget();

    const Program& program_;
    const Hash32 program_root_;
    ThreadPool pool_;
    State kept_;
    std::vector<Kept> tensors_;
    std::uint64_t hashed_ = 0;
    std::thread worker_;
    std::exception_ptr failed_;  ///< What the worker threw.
};

}  // namespace retrace::kernels
