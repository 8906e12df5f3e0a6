// SPDX-License-Identifier: MIT
// The artifacts that live tasks name, served and taken on the node's own port. SPEC of the quotas:
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

/// Uploads of anything but what live tasks name are refused, so the disk of a node is open only to those who have paid
/// an escrow, and to each for as much as the escrow stands for. What a task needed that was cancelled or expired leaves
/// the disk with the block; what a settled one needed some time later, so that it can be fetched and replayed, or
/// earlier if its own requester has no room left for a live task.
class ArtifactExtension final : public Extension {
public:
    /// `chain` and `application` outlive the extension.
    ArtifactExtension(std::unique_ptr<Store> store, const ledger::Chain& chain, LedgerApplication& application,
                      const ArtifactsConfig& config);
    ~ArtifactExtension() override;

    ArtifactServer& server() noexcept { return server_; }

    /// Bytes that the escrow of a task stands for.
    static std::uint64_t bytes_of(const ledger::U256& escrow, std::uint64_t mib_per_coin);

private:
    struct Task {
        ArtifactQuota::Owner owner;
        Hash32 program_root;
        std::uint64_t program_bytes = 0;  ///< As the task declares it.
        std::set<Hash32> roots;
    };

    static ArtifactQuota::Limits limits_of(const Store& store, const ArtifactsConfig& config);
    bool wanted(const Hash32& root);
    Status<Failure> charge(const Hash32& root, const std::vector<Hash32>& names, std::uint64_t bytes);

    // With the mutex held.
    /// Takes up what the newest block changed.
    void follow();
    void begin_task(const ledger::StateView& state, const market::Params& params, std::uint64_t id);
    void end_task(const ledger::StateView& state, std::uint64_t id, const Task& task);
    std::vector<ArtifactQuota::Owner> owners_of(const std::vector<Hash32>& names) const;
    std::set<Hash32> named() const;
    void settle_quota();
    /// What a new artifact of these owners may take the place of, what settled first at the front: what no live task
    /// names and either settled tasks of the same requesters needed, or nobody keeps any longer.
    std::vector<Hash32> giving_way_to(const std::vector<ArtifactQuota::Owner>& owners) const;
    /// Deletes as much of it as is needed; nothing, and false, when all of it would not be enough.
    bool make_room(const Hash32& root, std::uint64_t bytes, const std::vector<ArtifactQuota::Owner>& owners);

    /// Deletes what is due; `all`: also looks for what nobody named for long.
    void tidy(bool all);
    void keep_tidy(const std::stop_token& stop);

    static constexpr std::uint64_t kAfterlifeBlocks = 5'000;
    static constexpr std::chrono::seconds kTidyEvery{60};

    std::unique_ptr<Store> store_;
    const ledger::Chain& chain_;
    LedgerApplication& application_;
    const std::uint64_t mib_per_coin_;
    // Apart, because the engine's thread takes it: that of the files is held for as long as a disk takes.
    std::mutex wake_mutex_;
    std::condition_variable_any wake_;
    bool has_block_ = false;
    std::mutex mutex_;  // guards the members below, up to the server
    std::optional<std::uint64_t> height_;  ///< Of the block that was followed.
    std::map<std::uint64_t, Task> tasks_;  ///< Alive.
    std::map<Hash32, std::set<std::uint64_t>> tasks_of_;  ///< Root → those of them that name it.
    std::map<Hash32, std::uint64_t> settled_;  ///< Root → height in which the last task that named it settled.
    std::set<Hash32> due_;                     ///< To be deleted at once.
    std::set<Hash32> arriving_;                ///< Charged, and being stored.
    ArtifactQuota quota_;
    GarbageCollector garbage_collector_;
    ArtifactServer server_;
    LedgerApplication::Token token_ = 0;
    std::jthread tidying_;  ///< Last: it stops before what it uses is gone.
};

}  // namespace retrace::node
