// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "kernels/commit/commitment.hpp"
#include "node/platform/fault.hpp"
#include "node/wire/artifact_codec.hpp"
#include "solver/checkpoints/checkpoint_store.hpp"

namespace retrace::node {

/// Serves the checkpoints of a solver or an auditor beside an artifact store. Requested tensors stay in memory with
/// their trees for a while, because a peer requests one range after the other. Thread-safe.
class CheckpointProvider {
public:
    /// `checkpoints` outlives the provider. Above `bytes_max`, which includes the trees, the least recently requested
    /// tensors are evicted.
    explicit CheckpointProvider(const solver::CheckpointStore& checkpoints,
                                std::uint64_t bytes_max = std::uint64_t{512} << 20);
    ~CheckpointProvider();

    std::optional<wire::StateManifest> state(const Hash32& root) const;
    /// Sets the states that are not served from now on; replaces those of the last call.
    void withhold(std::set<Hash32> roots);
    /// See TensorFiles::tiles.
    Result<wire::TileRange, Failure> tiles(const Hash32& root, std::uint64_t first, std::uint64_t count);
    /// See cut_leaves.
    Result<Bytes, Failure> leaves(const Hash32& root, std::uint64_t first, std::uint64_t count);
    Result<wire::Info, Failure> info(const Hash32& root);
    /// Number of tensors in memory.
    std::size_t kept();

private:
    struct Entry;
    using Open = std::shared_ptr<const Entry>;
    Result<Open, Failure> open(const Hash32& root);
    /// Returns the tensor if it is in memory, otherwise null.
    Open find(const Hash32& root);
    void trim();

    const solver::CheckpointStore& checkpoints_;
    std::uint64_t bytes_max_;
    /// Only one tensor at a time is read and hashed; requests for tensors in memory do not wait for it.
    solver::TurnLock loading_;
    kernels::ThreadPool pool_{1};
    struct Slot {
        Open entry;
        std::uint64_t used = 0;
    };
    mutable std::mutex mutex_;  ///< Guards the members below.
    std::set<Hash32> withheld_;
    std::map<Hash32, Slot> entries_;
    std::uint64_t bytes_ = 0, clock_ = 0;
};

}  // namespace retrace::node
