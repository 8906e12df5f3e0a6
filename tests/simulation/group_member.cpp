// SPDX-License-Identifier: MIT
// What a solver does as the member of a group.
#include <algorithm>

#include "contracts/records/rollback_views.hpp"
#include "node/agents/group_views.hpp"
#include "tests/simulation/solver_party.hpp"
#include "verifier/game/public_leaves.hpp"

namespace retrace::sim {
namespace {

namespace views = contracts::views;

constexpr std::uint64_t kLateBlocks = 8;  // Before a deadline: a call is in a block by then.

/// Height up to which the state has to be opened; nullopt: nothing is due.
std::optional<std::uint64_t> opening_deadline(const ledger::StateView& view, const solver::OpenMember& move) {
    const auto state = views::checkpoint(view, move.task, move.run, move.opening.index);
    if (state && state->open_deadline != 0) return state->open_deadline;
    std::optional<std::uint64_t> out;
    for (const std::uint64_t back : {std::uint64_t{0}, std::uint64_t{1}}) {
        if (move.opening.index < back) continue;
        const auto segment = views::segment(view, move.task, move.run, move.opening.index - back);
        const auto audit = segment && segment->audit != 0 ? views::audit(view, segment->audit) : std::nullopt;
        if (!audit || audit->deadline == 0) continue;
        if (audit->phase == (back == 0 ? market::AuditPhase::opening : market::AuditPhase::revealing))
            out = std::min(out.value_or(audit->deadline), audit->deadline);
    }
    return out;
}

}  // namespace

void SolverParty::offer_seats(const ledger::StateView& view, solver::SolverView& seen) {
    for (const node::FreeSeat& seat :
         node::free_seats(view, address(), world().immutable, memory_->agent->ready_seats())) {
        if (!views::may_take_part(view, seat.task, address())) continue;
        const auto spec = views::spec(view, seat.task);
        const auto floor = spec ? views::stake_floor(view, world().params, seat.task) : std::nullopt;
        if (!floor || seat.price < wish(*spec) || views::free_stake(view, world().params, address()) < *floor) continue;
        seen.seats.push_back(node::seat_view(view, seat, *spec, world().params, address(), world().immutable));
    }
}

void SolverParty::leave_groups(const ledger::StateView& view) {
    for (const views::RunId& id : views::open_runs(view, address())) {
        const auto group = views::group(view, id.task);
        const auto member = views::member(view, id.task, id.run);
        if (!group || !member || member->leaving || group->round != *role_.leaves_in) continue;
        call("gives its seat up", contracts::LeaveTask{id.task, id.run});
    }
}

void SolverParty::hold_openings_back(const ledger::StateView& view, std::uint64_t height,
                                     std::vector<solver::SolverMove>& moves) const {
    std::erase_if(moves, [&](const solver::SolverMove& move) {
        const auto* opening = std::get_if<solver::OpenMember>(&move);
        const auto due = opening != nullptr ? opening_deadline(view, *opening) : std::nullopt;
        return due && height + kLateBlocks < *due;
    });
}

void SolverParty::hold_messages_back(const ledger::StateView& view, std::vector<solver::SolverMove>& moves) const {
    std::erase_if(moves, [&](const solver::SolverMove& move) {
        const auto* message = std::get_if<solver::CommitRound>(&move);
        if (message == nullptr || message->steps == 0) return false;
        const auto group = views::group(view, message->task);
        const auto terms = views::group_spec(view, message->task);
        return group && terms && group->round < terms->rounds - 1 && group->round < message->base + terms->max_age;
    });
}

bool SolverParty::serves_messages_to(NodeId node) const {
    if (role_.serves_only.empty()) return true;
    const auto& parties = world().parties;
    return std::any_of(parties.begin(), parties.end(),
                       [&](const auto& party) { return party->id() == node && party->name() == role_.serves_only; });
}

void SolverParty::stay_out_at_the_end(const ledger::StateView& view, std::vector<solver::SolverMove>& moves) const {
    std::erase_if(moves, [&](const solver::SolverMove& move) {
        const auto* segment = std::get_if<solver::CommitRound>(&move);
        const auto group = segment != nullptr ? views::group(view, segment->task) : std::nullopt;
        return group && group->phase == market::GroupPhase::over;
    });
}

void SolverParty::note_sent(const solver::CommitRound& move) {
    const auto state = memory_->store->commitment({move.task, move.run, move.index});
    if (!state) return;
    for (const Hash32& root : state->tensor_roots) {
        if (world().sent.contains(root)) continue;
        auto tensor = memory_->store->tensor(root, world().pool);
        if (tensor) world().sent.emplace(root, std::move(*tensor));
    }
}

bool SolverParty::make_member_move(const ledger::StateView& view, const solver::SolverMove& move) {
    if (const auto* m = std::get_if<solver::CommitRound>(&move)) {
        note_sent(*m);
        call("commits to state " + std::to_string(m->index) + " in round " + std::to_string(m->base),
             contracts::CommitRound{m->task, m->run, m->index, m->base, m->steps, m->commitment, m->message, m->masks});
    } else if (const auto* m = std::get_if<solver::CommitHoldings>(&move)) {
        call("commits to what it has of round " + std::to_string(m->round),
             contracts::CommitHoldings{m->task, m->run, m->round,
                                       market::holding_commitment(m->task, m->run, m->round, m->salt, m->bitmap)});
    } else if (const auto* m = std::get_if<solver::RevealHoldings>(&move)) {
        call("reveals what it has of round " + std::to_string(m->round),
             contracts::RevealHoldings{m->task, m->run, m->round, m->bitmap, m->salt});
    } else if (const auto* m = std::get_if<solver::OpenMember>(&move)) {
        const verifier::PublicLeaves shown{m->header, m->program, m->leaves, m->proof};
        call("opens state " + std::to_string(m->opening.index),
             contracts::OpenMember{m->task, m->run, m->opening.index, m->opening.salt, m->opening.root,
                                   verifier::encode(shown)});
    } else if (const auto* m = std::get_if<solver::JoinGroup>(&move)) {
        call("joins the group", contracts::JoinTask{m->task, m->anchor, m->index},
             market::join_fee(world().params, *world().immutable.spec(view, m->task), m->index));
    } else if (const auto* m = std::get_if<solver::CommitData>(&move)) {
        call("commits to its data", contracts::CommitData{m->task, m->run, m->data});
    } else {
        return false;
    }
    return true;
}

}  // namespace retrace::sim
