// SPDX-License-Identifier: MIT
// Quotas of stored bytes for each task and requester, and in total.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "merkle/base/bytes.hpp"
#include "node/platform/fault.hpp"

namespace retrace::node {

/// Accounts for stored bytes: each artifact is charged to one task that names it, and so to its requester. Holds no
/// files and knows no chain. Not thread-safe.
class ArtifactQuota {
public:
    struct Limits {
        std::uint64_t total = 0;      ///< Bytes of all artifacts.
        std::uint64_t requester = 0;  ///< Bytes of all tasks of one requester.
    };
    /// A live task that names an artifact.
    struct Owner {
        std::uint64_t task = 0;
        std::string requester;
        std::uint64_t bytes_max = 0;  ///< Limit for all its artifacts, which follows from its escrow.
    };

    explicit ArtifactQuota(const Limits& limits) : limits_(limits) {}

    /// Call before `bytes` are written under `root`. Charges the first owner with room for them; repeated calls charge
    /// once. On over_quota, which names the limit and the remedy, nothing is charged.
    Status<Failure> charge(const Hash32& root, std::uint64_t bytes, const std::vector<Owner>& owners);
    /// Releases the charge of an artifact that was not written or is gone.
    void release(const Hash32& root);

    /// Rebuilds the charges from the stored artifacts and the live tasks that name them. An artifact that no live task
    /// names (`owners_of` returns none) stays charged to its requester until it is gone, or to nobody if this process
    /// never knew one. Charges of `arriving` stand, although nothing of them is stored yet. The charge of an ended
    /// task moves to the first live task whose escrow has room for it; returns the artifacts that none has room for. The
    /// limits of a requester and in total do not count there, because they bound what is stored and this is stored
    /// already (an operator may have lowered them since). After a restart nobody knows who was charged, so everything
    /// stays.
    std::vector<Hash32> settle(const std::map<Hash32, std::uint64_t>& stored,
                               const std::function<std::vector<Owner>(const Hash32&)>& owners_of,
                               const std::set<Hash32>& arriving = {});

    std::uint64_t total() const noexcept { return total_; }
    std::uint64_t of_requester(const std::string& requester) const;
    std::uint64_t of_task(std::uint64_t task) const;
    /// Whether the artifact is charged to that requester.
    bool is_of(const Hash32& root, const std::string& requester) const;

private:
    struct Charge {
        std::uint64_t bytes = 0;
        std::uint64_t task = 0;  ///< 0: the task is over.
        std::string requester;   ///< Empty: unknown.
    };
    void add(const Hash32& root, Charge charge);

    Limits limits_;
    std::map<Hash32, Charge> charges_;
    std::map<std::string, std::uint64_t> of_requester_;
    std::map<std::uint64_t, std::uint64_t> of_task_;
    std::uint64_t total_ = 0;
};

}  // namespace retrace::node
