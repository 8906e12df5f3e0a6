// SPDX-License-Identifier: MIT
// Whose bytes lie on this disk, and how many each may have there.
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

/// Accounts of what is stored: each artifact is charged to one task that names it, and so to its requester. Holds no
/// files and knows no chain. Not thread-safe.
class ArtifactQuota {
public:
    struct Limits {
        std::uint64_t total = 0;      ///< Of all artifacts.
        std::uint64_t requester = 0;  ///< Of all tasks of one.
    };
    /// A task that is alive and names an artifact.
    struct Owner {
        std::uint64_t task = 0;
        std::string requester;
        std::uint64_t bytes_max = 0;  ///< Of all its artifacts: what its escrow stands for.
    };

    explicit ArtifactQuota(const Limits& limits) : limits_(limits) {}

    /// Before `bytes` are written under `root`. To the first owner that has room for them, once however often it is
    /// asked. over_quota names the limit and what to do about it; nothing is charged then.
    Status<Failure> charge(const Hash32& root, std::uint64_t bytes, const std::vector<Owner>& owners);
    /// It was not written, or is gone.
    void release(const Hash32& root);

    /// What is really there, and what the tasks that are alive now say of it: `owners_of` is empty of what none of them
    /// names, which its requester is charged for until it is gone, and nobody if this process never knew one. The
    /// charges of `arriving` stand, though nothing of them is there yet.
    void settle(const std::map<Hash32, std::uint64_t>& stored,
                const std::function<std::vector<Owner>(const Hash32&)>& owners_of,
                const std::set<Hash32>& arriving = {});

    std::uint64_t total() const noexcept { return total_; }
    std::uint64_t of_requester(const std::string& requester) const;
    std::uint64_t of_task(std::uint64_t task) const;
    /// The artifact is charged to that requester.
    bool is_of(const Hash32& root, const std::string& requester) const;

private:
    struct Charge {
        std::uint64_t bytes = 0;
        std::uint64_t task = 0;  ///< 0: it is over.
        std::string requester;   ///< Empty: nobody's.
    };
    void add(const Hash32& root, Charge charge);

    Limits limits_;
    std::map<Hash32, Charge> charges_;
    std::map<std::string, std::uint64_t> of_requester_;
    std::map<std::uint64_t, std::uint64_t> of_task_;
    std::uint64_t total_ = 0;
};

}  // namespace retrace::node
