// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/disputes/replicas.hpp"

#include "contracts/lifecycle/disputes/cases.hpp"
#include "contracts/records/group_views.hpp"

namespace retrace::contracts {
namespace {

/// Returns the roots of a segment's ends, once both are open.
std::optional<std::pair<Hash32, Hash32>> ends(const StateView& view, const market::Run& run, std::uint64_t segment) {
    if (segment < run.first_state) return std::nullopt;
    const auto start = views::checkpoint(view, run.task, run.index, segment);
    const auto end = views::checkpoint(view, run.task, run.index, segment + 1);
    if (!start || !start->opened || !end || !end->opened) return std::nullopt;
    return std::pair{start->root, end->root};
}

/// Returns the dispute between replicas in which `accuser` accuses the run; 0: none.
std::uint64_t dispute_of(const StateView& view, std::uint64_t task, std::uint32_t run, const Address& accuser) {
    return views::accusation(view, market::DisputeKind::replica, task, run, 0, accuser);
}

/// Returns the roots of the seeded initial state of both runs, once both have opened it. A task that is not seeded
/// names its start, which no run can deny (13.2).
std::optional<std::pair<Hash32, Hash32>> starts(const StateView& view, const market::Run& run,
                                                const market::Run& other) {
    if (must_load<market::TaskSpec>(view, keys::spec(run.task)).init_root.is_zero()) return std::nullopt;
    const auto mine = views::checkpoint(view, run.task, run.index, 0),
               theirs = views::checkpoint(view, run.task, other.index, 0);
    if (!mine || !mine->opened || !theirs || !theirs->opened) return std::nullopt;
    return std::pair{mine->root, theirs->root};
}

/// Returns the kind of dispute that the runs would have about this segment, if they differ there first.
std::optional<market::DisputeKind> difference(const StateView& view, const market::Run& run, const market::Run& other,
                                              std::uint64_t segment) {
    if (segment == 0) {
        const auto both = starts(view, run, other);
        if (both && both->first != both->second) return market::DisputeKind::replica_initial;
    }
    const auto mine = ends(view, run, segment), theirs = ends(view, other, segment);
    if (!mine || !theirs || mine->first != theirs->first || mine->second == theirs->second) return std::nullopt;
    return market::DisputeKind::replica;
}

void compare_segment(Effects& fx, std::uint64_t id, std::uint32_t index, std::uint64_t segment) {
    const auto active = must_load<market::Task>(fx.state, keys::task(id)).active;
    for (const std::uint32_t other_index : active) {
        // Reloaded: a dispute may be decided at once and end a run.
        const auto run = must_load<market::Run>(fx.state, keys::run(id, index));
        const auto other = must_load<market::Run>(fx.state, keys::run(id, other_index));
        if (other_index == index || market::is_over(run.state) || market::is_over(other.state)) continue;
        const market::Run& asserts = index < other_index ? run : other;
        const market::Run& accuses = index < other_index ? other : run;
        const auto kind = difference(fx.state, run, other, segment);
        if (!kind || !views::segment(fx.state, id, asserts.index, segment)) continue;
        if (dispute_of(fx.state, id, asserts.index, accuses.solver) != 0) continue;  // 15.8.1
        const std::uint64_t state = market::is_initial(*kind) ? 0 : segment + 1;
        const Hash32 claimed = views::checkpoint(fx.state, id, accuses.index, state)->root;
        open_dispute(fx, {*kind, id, asserts.index, segment, accuses.solver, U256(), 0, claimed});
    }
}

}  // namespace

void compare_replicas(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t index) {
    const auto record = must_load<market::Task>(fx.state, keys::task(task));
    if (views::replicas_of(fx.state, record, run).size() < 2) return;
    if (index > 0) compare_segment(fx, task, run, index - 1);
    compare_segment(fx, task, run, index);
}

bool disputes_replica(const StateView& view, const market::Run& run) {
    const auto task = must_load<market::Task>(view, keys::task(run.task));
    for (const std::uint32_t index : views::replicas_of(view, task, run.index)) {
        if (index == run.index) continue;
        const auto other = must_load<market::Run>(view, keys::run(run.task, index));
        const market::Run& asserts = index < run.index ? other : run;
        const market::Run& accuses = index < run.index ? run : other;
        if (dispute_of(view, run.task, asserts.index, accuses.solver) != 0) return true;
    }
    return false;
}

std::vector<std::uint64_t> replicas_accused(const StateView& view, const market::Run& run) {
    std::vector<std::uint64_t> out;
    const auto task = must_load<market::Task>(view, keys::task(run.task));
    for (const std::uint32_t index : views::replicas_of(view, task, run.index)) {
        const std::uint64_t dispute = index < run.index ? dispute_of(view, run.task, index, run.solver) : 0;
        if (dispute != 0) out.push_back(dispute);
    }
    return out;
}

}  // namespace retrace::contracts
