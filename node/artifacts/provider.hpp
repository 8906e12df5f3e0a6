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

/// Serves what another store holds, beside an artifact store: the checkpoints of a solver or of an auditor.
/// Tensors that were asked for stay in memory with their trees for a while, because a peer asks for one range
/// after the other. Safe to use from several threads.
class CheckpointProvider {
public:
    /// `checkpoints` outlives the provider. The least recently asked tensors go when `bytes_max` is exceeded,
    /// with all that is kept of them.
    explicit CheckpointProvider(const solver::CheckpointStore& checkpoints,
                             std::uint64_t bytes_max = std::uint64_t{512} << 20);
    ~CheckpointProvider();

    std::optional<wire::StateManifest> state(const Hash32& root) const;
    /// States that it has and does not serve from now on, instead of those of the last call.
    void withhold(std::set<Hash32> roots);
    /// As TensorFiles::tiles.
    Result<wire::TileRange, Failure> tiles(const Hash32& root, std::uint64_t first, std::uint64_t count);
    /// As cut_leaves.
    Result<Bytes, Failure> leaves(const Hash32& root, std::uint64_t first, std::uint64_t count);
    Result<wire::Info, Failure> info(const Hash32& root);
    /// Tensors in memory.
    std::size_t kept();

private:
    struct Entry;
    using Open = std::shared_ptr<const Entry>;
    Result<Open, Failure> open(const Hash32& root);
    /// Of what is in memory; null else.
    Open find(const Hash32& root);
    void trim();

    const solver::CheckpointStore& checkpoints_;
    std::uint64_t bytes_max_;
    /// One tensor at a time is read and hashed; whoever asks for one that is in memory waits for none of that.
    solver::TurnLock loading_;
    kernels::ThreadPool pool_{1};
    struct Slot {
        Open entry;
        std::uint64_t used = 0;
    };
    mutable std::mutex mutex_;  ///< Of what follows.
    std::set<Hash32> withheld_;
    std::map<Hash32, Slot> entries_;
    std::uint64_t bytes_ = 0, clock_ = 0;
};

}  // namespace retrace::node
