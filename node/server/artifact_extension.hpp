// SPDX-License-Identifier: MIT
// Serves and accepts, on the node's own port, the artifacts that live tasks name. The quotas are specified in
// node/artifacts/README.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "market/params.hpp"
#include "market/types.hpp"
#include "node/artifacts/garbage_collector.hpp"
#include "node/artifacts/quota.hpp"
#include "node/artifacts/server.hpp"
#include "node/server/config/config.hpp"
#include "node/server/engine/application.hpp"
#include "node/server/extensions.hpp"

namespace retrace::node {

/// Accepts uploads only of artifacts that live tasks name, so only requesters who have paid an escrow can use the
/// node's disk, each for as many bytes as the escrow pays for. Artifacts of a cancelled or expired task are deleted
/// with the block that ends it. Those of a settled task stay for `kRetentionBlocks`, so that they can be fetched and
/// replayed; they are deleted earlier if their own requester has no room left for a live task.
class ArtifactExtension final : public Extension {
public:
    /// Interval at which files are counted anew and collected.
    static constexpr std::chrono::seconds kGarbageInterval{60};

    /// `chain` and `application` outlive the extension.
    ArtifactExtension(std::unique_ptr<Store> store, const ledger::Chain& chain, LedgerApplication& application,
                      const ArtifactsConfig& config, std::chrono::milliseconds garbage_interval = kGarbageInterval);
    ~ArtifactExtension() override;

    ArtifactServer& server() noexcept { return server_; }

    /// Bytes that the escrow of a task pays for.
    static std::uint64_t bytes_of(const ledger::U256& escrow, std::uint64_t mib_per_coin);

private:
    struct Task {
        ArtifactQuota::Owner owner;
        Hash32 program_root;
        std::uint64_t program_bytes = 0;  ///< As declared by the task.
        std::set<Hash32> roots;
    };

    static ArtifactQuota::Limits limits_of(const Store& store, const ArtifactsConfig& config);
    bool wanted(const Hash32& root);
    Status<Failure> charge(const Hash32& root, const std::vector<Hash32>& names, const ArtifactServer::Size& size);

    // The functions from here to `make_room` are called with the mutex held.
    /// Updates the tasks to the state after the newest block.
    void follow();
    void begin_task(const ledger::StateView& state, const market::Params& params, std::uint64_t id);
    void end_task(const ledger::StateView& state, std::uint64_t id, const Task& task);
    std::vector<ArtifactQuota::Owner> owners_of(const std::vector<Hash32>& names) const;
    std::set<Hash32> named() const;
    /// Compares the charges with what is stored, which asks the disk about every file.
    void settle_quota();
    /// Deletes an artifact and releases what it, and the tensors that go with it, were charged.
    void drop(const Hash32& root, const std::set<Hash32>& alive);
    /// Artifacts that may be deleted for a new one of these owners, the earliest settled first. No live task names
    /// them, and either they are charged to one of the same requesters or their `kRetentionBlocks` are over.
    std::vector<Hash32> evictable_for(const std::vector<ArtifactQuota::Owner>& owners) const;
    /// Deletes as many of those artifacts as are needed. Returns false, and deletes nothing, if all would not suffice.
    bool make_room(const Hash32& root, std::uint64_t bytes, const std::vector<ArtifactQuota::Owner>& owners);

    /// Deletes the artifacts that are due; with `all`, also collects those that no task has named for long.
    void collect_garbage(bool all);
    void run_garbage_collection(const std::stop_token& stop);

    static constexpr std::uint64_t kRetentionBlocks = 5'000;

    std::unique_ptr<Store> store_;
    const ledger::Chain& chain_;
    LedgerApplication& application_;
    const std::uint64_t mib_per_coin_;
    const std::chrono::milliseconds garbage_interval_;
    // Separate from `mutex_`, because the engine's thread takes it and `mutex_` is held during disk operations.
    std::mutex wake_mutex_;
    std::condition_variable_any wake_;
    bool has_block_ = false;
    std::mutex mutex_;                                    // guards the members below, up to the server
    std::optional<std::uint64_t> height_;                 ///< The newest block that `follow` has processed.
    std::map<std::uint64_t, Task> tasks_;                 ///< Live tasks by id.
    std::map<Hash32, std::set<std::uint64_t>> tasks_of_;  ///< Root → live tasks that name it.
    std::map<Hash32, std::uint64_t> settled_;  ///< Root → height in which the last task that named it settled.
    std::set<Hash32> due_;                     ///< Artifacts to delete in the next `collect_garbage`.
    std::set<Hash32> arriving_;                ///< Charged and still being stored.
    ArtifactQuota quota_;
    GarbageCollector garbage_collector_;
    ArtifactServer server_;
    LedgerApplication::Token token_ = 0;
    std::jthread garbage_thread_;  ///< Last member: it stops before what it uses is destroyed.
};

}  // namespace retrace::node
