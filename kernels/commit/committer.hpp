// SPDX-License-Identifier: MIT
// Successive commitments of one training: only tiles that changed are hashed again, and the hashing works on a copy, so
// that it can run concurrently with the next steps.
#pragma once

#include <exception>
#include <thread>

#include "kernels/commit/commitment.hpp"

namespace retrace::kernels {

/// Keeps a copy of the last state, the hashes of its tiles and the list of those that changed (40 bytes per tile of 4
/// KiB). Changes are found by comparing the state with the copy, tile by tile, so it does not matter which op wrote
/// them; tensors that no op writes are not compared.
class StateCommitter {
public:
    /// `program` must outlive the committer. `threads` is the number of threads that hash concurrently with the
    /// training.
    StateCommitter(const Program& program, const Hash32& program_root, unsigned threads = 1);
    ~StateCommitter();
    /// Bytes that a committer of this program's states takes after its first `begin`.
    static std::uint64_t planned_bytes(const Program& program);
    StateCommitter(const StateCommitter&) = delete;
    StateCommitter& operator=(const StateCommitter&) = delete;

    /// Copies what changed in `state` (which has the program's shapes, asserted) and starts hashing it. The caller may
    /// change `state` as soon as this returns. `pool` compares and copies. No commitment may be under way.
    void begin(const State& state, ThreadPool& pool);
    bool under_way() const noexcept { return worker_.joinable(); }
    /// Waits for the commitment that `begin` started and returns the same result as commit_state of that state.
    /// Rethrows an exception of the worker; after that, as after a `begin` that threw, the next `begin` hashes
    /// everything.
    StateCommitment finish();
    /// The state of the last `begin`.
    const State& state() const noexcept { return kept_; }
    /// Number of tiles that the last commitment hashed.
    std::uint64_t tiles_hashed() const noexcept { return hashed_; }

private:
    struct Kept {
        std::vector<Hash32> leaves;
        std::vector<std::uint64_t> changed;  ///< Tiles to hash in the commitment under way, ascending.
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
    std::exception_ptr failed_;  ///< The exception that the worker threw.
};

}  // namespace retrace::kernels
