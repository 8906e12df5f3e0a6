// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "node/platform/fault.hpp"
#include "node/wire/artifact_codec.hpp"
#include "solver/checkpoints/checkpoint_store.hpp"

namespace retrace::node {

/// Serves the checkpoints of a solver or an auditor beside an artifact store. A tensor is read and hashed at its first
/// request; its tree stays in memory for a while, and tiles are read from its files range by range. So a range costs
/// what it holds, however large the tensor is and whoever else requests what. Thread-safe.
class CheckpointProvider {
public:
    /// `checkpoints` outlives the provider. Above `bytes_max` trees are evicted: each time the least recently requested
    /// one of the client whose first requests of tensors made most of what is kept. So a client evicts its own, unless
    /// others hold more.
    explicit CheckpointProvider(const solver::CheckpointStore& checkpoints,
                                std::uint64_t bytes_max = std::uint64_t{512} << 20);
    ~CheckpointProvider();

    std::optional<wire::StateManifest> state(const Hash32& root) const;
    /// Sets the states that are not served from now on; replaces those of the last call.
    void withhold(std::set<Hash32> roots);
    /// Sets the programs and plans of which no state, and no tensor that only their states have, is served from now on;
    /// replaces those of the last call and withhold_all. What is open already stays open.
    void withhold_programs(std::set<Hash32> roots);
    /// Serves nothing, until `withhold_programs`.
    void withhold_all();
    /// Whether requests for the tensor are answered without reading all of it. Does not wait for other requests.
    bool is_open(const Hash32& root) const;
    /// See TensorFiles::tiles. `client`: who requests them, by address.
    Result<wire::TileRange, Failure> tiles(const Hash32& root, std::uint64_t first, std::uint64_t count,
                                           const std::string& client = {});
    /// See cut_leaves.
    Result<Bytes, Failure> leaves(const Hash32& root, std::uint64_t first, std::uint64_t count,
                                  const std::string& client = {});
    Result<wire::Info, Failure> info(const Hash32& root, const std::string& client = {});
    /// Number of trees in memory.
    std::size_t kept() const;

private:
    using Open = std::shared_ptr<const solver::TensorParts>;
    struct Slot {
        Open tensor;
        std::uint64_t used = 0;
        std::string client;  ///< Whose request it was read for.
    };

    Result<Open, Failure> open(const Hash32& root, const std::string& client);
    bool is_withheld(const Hash32& tensor) const;
    /// Returns the tensor if its tree is in memory, otherwise null.
    Open find(const Hash32& root);
    void keep(const Hash32& root, const Open& tensor, const std::string& client);
    void evict(std::map<Hash32, Slot>::iterator slot);
    void trim();
    /// Forgets a tensor whose files are gone or damaged, so that the next request looks at them again.
    void forget(const Hash32& root);

    const solver::CheckpointStore& checkpoints_;
    std::uint64_t bytes_max_;
    /// Only one tensor at a time is read and hashed; requests for open tensors do not wait for it.
    solver::TicketLock loading_;
    mutable std::mutex mutex_;  ///< Guards the members below.
    std::set<Hash32> withheld_, withheld_programs_;
    bool withholds_all_ = false;
    std::map<Hash32, Slot> slots_;
    std::map<std::string, std::uint64_t> bytes_of_;  ///< By client.
    std::uint64_t bytes_ = 0, clock_ = 0;
};

}  // namespace retrace::node
