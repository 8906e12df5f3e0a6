// SPDX-License-Identifier: MIT
// A real plan of rounds, so small that a position costs microseconds, and the terms of groups that train it.
#pragma once

#include <set>
#include <string>

#include "market/groups.hpp"
#include "solver/artifacts/group_artifacts.hpp"

namespace retrace::sim {

/// The terms of a simulated group. Windows are longer than honest parties may be late (SPEC 2.1).
struct PlannedGroup {
    std::uint32_t rounds = 4;
    std::uint8_t members = 4, least = 2;  ///< Seats, and those that have to be sold.
    std::uint64_t round_blocks = 48, grace_blocks = 20, fetch_blocks = 20, reveal_blocks = 20;
    std::uint32_t absence_limit = 3, keep_rounds = 8, max_age = 0;
    std::uint8_t rollbacks = 0;
    std::uint32_t ahead = 0;
    /// Members train on data of their own, and these solvers may take part.
    bool is_private = false;
    std::set<std::string> admitted = {};
    std::uint8_t regions = 0;  ///< Not 0: `rounds` are those of training; the ledger has twice as many.
    std::uint64_t merge_blocks = 24;
    bool masked = false;
    std::uint64_t mask_blocks = 12;  ///< Then `round_blocks` are what is left to messages.
};

struct GroupKind {
    Bytes plan_bytes;
    kernels::PlanHeader header;
    std::unique_ptr<const solver::CommittedPlan> plan;
    std::vector<kernels::Tensor> data;
    std::vector<Hash32> data_roots;

    market::GroupSpec terms(const PlannedGroup& planned) const;
};

/// Built at the first call and read-only afterwards.
const GroupKind& group_kind(bool regional, bool masked = false);

/// The data sets of a member of a private group, by its account: of the same shapes as those of the kind, with other samples.
/// `others`: not those, but further ones.
std::vector<kernels::Tensor> data_of_member(const ledger::Address& member, bool others = false);
std::vector<Hash32> roots_of(const std::vector<kernels::Tensor>& data);

}  // namespace retrace::sim
