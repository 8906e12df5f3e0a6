// SPDX-License-Identifier: MIT
#include "node/artifacts/quota.hpp"

#include <algorithm>

namespace retrace::node {
namespace {

template <class Map>
std::uint64_t value_of(const Map& map, const typename Map::key_type& key) {
    const auto found = map.find(key);
    return found == map.end() ? 0 : found->second;
}

template <class Map>
void subtract(Map& map, const typename Map::key_type& key, std::uint64_t bytes) {
    const auto found = map.find(key);
    if (found != map.end() && (found->second -= bytes) == 0) map.erase(found);
}

/// Rounded up, so that a limit never looks larger than it is.
std::string mebibytes(std::uint64_t bytes) {
    return std::to_string((bytes >> 20) + ((bytes & ((1U << 20) - 1)) != 0 ? 1 : 0)) + " MiB";
}

}  // namespace

std::uint64_t ArtifactQuota::of_requester(const std::string& requester) const {
    return value_of(of_requester_, requester);
}

std::uint64_t ArtifactQuota::of_task(std::uint64_t task) const { return value_of(of_task_, task); }

bool ArtifactQuota::is_of(const Hash32& root, const std::string& requester) const {
    const auto found = charges_.find(root);
    return found != charges_.end() && found->second.requester == requester;
}

void ArtifactQuota::add(const Hash32& root, Charge charge) {
    total_ += charge.bytes;
    if (charge.task != 0) of_task_[charge.task] += charge.bytes;
    if (!charge.requester.empty()) of_requester_[charge.requester] += charge.bytes;
    charges_[root] = std::move(charge);
}

void ArtifactQuota::release(const Hash32& root) {
    const auto found = charges_.find(root);
    if (found == charges_.end()) return;
    const Charge& charge = found->second;
    total_ -= charge.bytes;
    if (charge.task != 0) subtract(of_task_, charge.task, charge.bytes);
    if (!charge.requester.empty()) subtract(of_requester_, charge.requester, charge.bytes);
    charges_.erase(found);
}

Status<Failure> ArtifactQuota::charge(const Hash32& root, std::uint64_t bytes, const std::vector<Owner>& owners) {
    const auto here = charges_.find(root);
    if (here != charges_.end() && here->second.bytes >= bytes) return Unit{};
    const Charge before = here != charges_.end() ? here->second : Charge{};
    const std::string size = "an artifact of " + mebibytes(bytes);
    if (bytes > limits_.total || total_ - before.bytes > limits_.total - bytes) {
        return failure(Fault::over_quota, size + " does not fit: this node keeps " + mebibytes(limits_.total) +
                                              " of artifacts in all; try again when others' tasks are over, or ask "
                                              "its operator for more (--artifact-quota)");
    }
    auto refused = failure(Fault::not_wanted, "no live task names " + to_hex(view(root)));
    for (const Owner& owner : owners) {
        const std::uint64_t of_task = this->of_task(owner.task) - (before.task == owner.task ? before.bytes : 0);
        const std::uint64_t of_requester =
            this->of_requester(owner.requester) - (before.requester == owner.requester ? before.bytes : 0);
        if (bytes > owner.bytes_max || of_task > owner.bytes_max - bytes) {
            refused =
                failure(Fault::over_quota, size + " does not fit: the escrow of task " + std::to_string(owner.task) +
                                               " stands for " + mebibytes(owner.bytes_max) +
                                               " of artifacts; post it with a higher price ceiling");
        } else if (bytes > limits_.requester || of_requester > limits_.requester - bytes) {
            refused =
                failure(Fault::over_quota, size + " does not fit: one requester has " + mebibytes(limits_.requester) +
                                               " of artifacts on this node at most; wait until a task is over");
        } else {
            release(root);
            add(root, {bytes, owner.task, owner.requester});
            return Unit{};
        }
    }
    return refused;
}

std::vector<Hash32> ArtifactQuota::settle(const std::map<Hash32, std::uint64_t>& stored,
                                          const std::function<std::vector<Owner>(const Hash32&)>& owners_of,
                                          const std::set<Hash32>& arriving) {
    const auto before = std::move(charges_);
    charges_.clear();
    of_requester_.clear();
    of_task_.clear();
    total_ = 0;
    std::vector<Hash32> moved, unpaid;
    for (const auto& [root, bytes] : stored) {
        const auto known = before.find(root);
        const std::vector<Owner> owners = owners_of(root);
        Charge charge{bytes, 0, known != before.end() ? known->second.requester : ""};
        const std::uint64_t task = known != before.end() ? known->second.task : 0;
        const auto own =
            std::find_if(owners.begin(), owners.end(), [&](const Owner& owner) { return owner.task == task; });
        if (known != before.end() && own == owners.end() && !owners.empty()) {
            moved.push_back(root);
            continue;
        }
        if (!owners.empty()) {
            const Owner& owner = own == owners.end() ? owners.front() : *own;
            charge.task = owner.task;
            charge.requester = owner.requester;
        }
        add(root, std::move(charge));
    }
    for (const auto& [root, charge] : before) {
        if (arriving.contains(root) && !stored.contains(root)) add(root, charge);
    }
    for (const Hash32& root : moved) {
        const std::uint64_t bytes = stored.at(root);
        const std::vector<Owner> owners = owners_of(root);
        const auto heir = std::find_if(owners.begin(), owners.end(), [&](const Owner& owner) {
            return bytes <= owner.bytes_max && of_task(owner.task) <= owner.bytes_max - bytes;
        });
        if (heir != owners.end()) {
            add(root, {bytes, heir->task, heir->requester});
            continue;
        }
        add(root, {bytes, 0, before.at(root).requester});
        unpaid.push_back(root);
    }
    return unpaid;
}

}  // namespace retrace::node
