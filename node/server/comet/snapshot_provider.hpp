// SPDX-License-Identifier: MIT
// Snapshots of the running chain, which nodes that join fetch instead of executing all past blocks (ledger 8).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "ledger/snapshot/snapshot.hpp"

namespace retrace::node::engine {

/// ABCI's number for the format of ledger 8.
inline constexpr std::uint32_t kSnapshotFormat = 1;
/// What CometBFT sends to a peer in one message: a snapshot's manifest, and one of its parts.
inline constexpr std::size_t kManifestMax = 3'900'000, kPartMax = 15'900'000;

/// Makes a snapshot at every height that is a multiple of `every`, on a thread of its own, and keeps the newest two, so
/// that a peer can finish the one that it has begun. All nodes of a chain make the same files. None is made while the
/// disk has less room than twice the last one and 256 MiB.
class SnapshotProvider {
public:
    /// `store` outlives the provider, and `tip` is the height of its last block. Snapshots that an earlier process has left in the folder are kept.
    SnapshotProvider(const ledger::Store& store, ledger::Genesis genesis, std::filesystem::path folder,
                     std::uint64_t every, std::uint64_t tip);
    /// Ends a snapshot that is being made.
    ~SnapshotProvider();
    SnapshotProvider(const SnapshotProvider&) = delete;
    SnapshotProvider& operator=(const SnapshotProvider&) = delete;

    /// Called after block `height` was committed and before the next one is. Returns at once. While a snapshot is made,
    /// only the newest further height waits for its turn.
    void on_commit(std::uint64_t height);
    /// Newest first. A snapshot is offered once the two blocks after the next one are there: CometBFT's light client
    /// needs them, and a node that cannot verify a snapshot never asks for it again.
    std::vector<ledger::SnapshotManifest> list() const;
    /// Part 0 is the block. nullopt: there is no such snapshot or part, or its file is damaged.
    std::optional<Bytes> load(std::uint64_t height, std::uint32_t part) const;

    static constexpr std::size_t kKept = 2;

private:
    struct Order {
        std::uint64_t height = 0;
        std::shared_ptr<const ledger::Store> store;  ///< As it was after that block.
    };
    void find_kept();
    void run();
    void make(const Order& order);
    void export_to(const std::filesystem::path& folder, const Order& order);
    std::uint64_t newest_bytes() const;
    void keep(ledger::SnapshotManifest manifest);
    std::filesystem::path folder_of(std::uint64_t height) const { return folder_ / std::to_string(height); }

    const ledger::Store& store_;
    const ledger::Genesis genesis_;
    const std::filesystem::path folder_;
    const std::uint64_t every_;
    mutable std::mutex mutex_;  // guards the members below
    std::condition_variable changed_;
    std::optional<Order> order_;  // the snapshot that is made next
    bool stopping_ = false;
    std::uint64_t tip_ = 0;                       // last committed height
    std::vector<ledger::SnapshotManifest> kept_;  // newest first
    std::thread thread_;
};

}  // namespace retrace::node::engine
