// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/disputes/cases.hpp"

#include "contracts/lifecycle/audits/reports.hpp"
#include "contracts/lifecycle/audits/rounds.hpp"
#include "contracts/lifecycle/disputes/convictions.hpp"
#include "contracts/lifecycle/disputes/open_cases.hpp"
#include "contracts/lifecycle/disputes/replicas.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "contracts/records/group_positions.hpp"
#include "contracts/records/rollback_views.hpp"
#include "market/work.hpp"

namespace retrace::contracts {
namespace {

using market::DisputeKind;
using market::DisputeState;
using verifier::Side;

void store_game(Effects& fx, std::uint64_t dispute, const verifier::Game& game) {
    const keys::Key key = keys::game(dispute);
    fx.state.set_slot(address_of(key.contract), key.bytes, verifier::encode(game));
}

verifier::Game first_game(const Effects& fx, const Accusation& accusation) {
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(accusation.task));
    const auto root = [&](std::uint64_t index) {
        return must_load<market::Checkpoint>(fx.state, keys::checkpoint(accusation.task, accusation.run, index)).root;
    };
    verifier::Claim claim;
    claim.initialiser = market::is_initial(accusation.kind);
    claim.positions = views::is_group(fx.state, accusation.task);
    if (claim.initialiser) {
        claim.end_root = root(0);
    } else {
        claim.start_root = root(views::start_of_segment(fx.state, accusation.task, accusation.run, accusation.segment));
        claim.end_root = root(accusation.segment + 1);
    }
    if (claim.positions) {
        if (!claim.initialiser) {
            const keys::Key key = keys::member_segment(accusation.task, accusation.run, accusation.segment);
            claim.last_step = must_load<market::MemberSegment>(fx.state, key).positions;
        }
        return verifier::start({spec.contract_hash, spec.program_root, {}, 0, {}}, claim);
    }
    if (!claim.initialiser) {
        claim.first_step = spec.first_step(accusation.segment);
        claim.last_step = spec.last_step(accusation.segment);
    }
    const Hash32& played = claim.initialiser ? spec.init_root : spec.program_root;
    return verifier::start({spec.contract_hash, spec.program_root, played, spec.seed, spec.data_roots}, claim);
}

/// Gives the turn to the game's mover, whose clock runs from here.
void give_turn(Effects& fx, market::Dispute& dispute, const verifier::Game& game) {
    dispute.mover = static_cast<std::uint8_t>(game.mover);
    dispute.turn_height = fx.height;
    dispute.deadline = fx.height + (game.mover == Side::solver ? dispute.solver_clock : dispute.challenger_clock);
    dispute.rounds = game.rounds;
    dispute.evidence_bytes = game.evidence_bytes;
    store(fx.state, keys::dispute(dispute.id), dispute);
    store_game(fx, dispute.id, game);
    schedule_single(fx, dispute.deadline + 1, ScheduledKind::dispute_clock, dispute.id, 0);
    fx.emit(
        DisputeMoved{dispute.id, static_cast<std::uint8_t>(game.phase), dispute.mover, game.rounds, dispute.deadline});
}

/// 15.3: sets each side's clock: earlier work, the work of this dispute, and its moves.
void give_clocks(Effects& fx, market::Dispute& dispute) {
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(dispute.task));
    const std::uint64_t work = market::dispute_work(spec, dispute.kind);
    const std::uint64_t moves = fx.params.moves * fx.params.move_blocks;
    dispute.solver_due = give_dispute_work(fx, dispute.solver, work, origin_of(dispute, dispute.solver));
    dispute.challenger_due = give_dispute_work(fx, dispute.challenger, work, origin_of(dispute, dispute.challenger));
    dispute.solver_clock = moves + dispute.solver_due - fx.height;
    dispute.challenger_clock = moves + dispute.challenger_due - fx.height;
}

}  // namespace

std::uint64_t open_dispute(Effects& fx, const Accusation& accusation) {
    market::Dispute dispute;
    dispute.id = next_id(fx.state, keys::dispute_count());
    dispute.kind = accusation.kind;
    dispute.state = DisputeState::open;
    dispute.task = accusation.task;
    dispute.run = accusation.run;
    dispute.segment = accusation.segment;
    dispute.solver = must_load<market::Run>(fx.state, keys::run(accusation.task, accusation.run)).solver;
    dispute.challenger = accusation.challenger;
    dispute.audit = accusation.audit;
    dispute.claimed_root = accusation.claimed_root;
    dispute.bond = accusation.bond;
    dispute.opened_height = fx.height;
    verifier::Game game = first_game(fx, accusation);
    supply_position(fx.state, dispute, game);
    note_late(fx, dispute);
    if (!game.loser) give_clocks(fx, dispute);
    list_dispute(fx, dispute);
    fx.emit(DisputeOpened{dispute.id, dispute.task, dispute.run, dispute.segment,
                          static_cast<std::uint8_t>(dispute.kind), dispute.solver, dispute.challenger});
    if (game.loser)
        settle(fx, dispute, game);
    else
        give_turn(fx, dispute, game);
    return dispute.id;
}

void open_next_dispute(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t index) {
    if (must_load<market::Run>(fx.state, keys::run(task, run)).state != market::RunState::running) return;
    const auto segment = must_load<market::Segment>(fx.state, keys::segment(task, run, index));
    if (segment.audit == 0 || segment.audit_dispute != 0) return;
    auto audit = must_load<market::Audit>(fx.state, keys::audit(segment.audit));
    if (audit.waiting.empty()) return;
    market::Seat& seat = audit.seats.at(audit.waiting.front());
    audit.waiting.erase(audit.waiting.begin());
    const Accusation accusation{DisputeKind::audit, task, run, index, seat.auditor, seat.bond, audit.id, seat.root};
    seat.bond = U256();  // 14.8.7: from here on it belongs to the dispute
    remove_from_list(fx.state, keys::open_audits(seat.auditor), audit.id);
    store(fx.state, keys::audit(audit.id), audit);
    open_dispute(fx, accusation);
}

bool holds_late_run(const StateView& view, const market::Run& run) {
    for (const std::uint64_t id : list<std::uint64_t>(view, keys::run_disputes(run.task, run.index))) {
        // A drawn auditor does not choose when its dispute opens, but the solver may.
        if (must_load<market::Dispute>(view, keys::dispute(id)).opened_height > run.deadline) return true;
        if (counter(view, keys::late_challenge(id)) == run.next_state) return true;
    }
    return !replicas_accused(view, run).empty();
}

std::uint64_t replicas_agree_until(const StateView& view, const market::Run& run) {
    std::uint64_t out = kAllRight;
    const auto look_at = [&](std::uint64_t id) {
        const auto dispute = must_load<market::Dispute>(view, keys::dispute(id));
        if (market::between_replicas(dispute.kind)) out = std::min(out, dispute.segment);
    };
    for (const std::uint64_t id : list<std::uint64_t>(view, keys::run_disputes(run.task, run.index))) look_at(id);
    for (const std::uint64_t id : replicas_accused(view, run)) look_at(id);
    return out;
}

void supply_position(const StateView& view, const market::Dispute& dispute, verifier::Game& game) {
    if (!verifier::needs_position(game)) return;
    auto facts = game.claim.initialiser
                     ? facts_of_entry(view, dispute.task, dispute.run)
                     : facts_of_position(view, dispute.task, dispute.run, dispute.segment, game.found.step);
    ensure(facts.has_value(), "the records of a group fit together");
    verifier::set_position(game, std::move(*facts));
}

void after_move(Effects& fx, market::Dispute& dispute, const verifier::Game& game) {
    std::uint64_t& clock =
        dispute.mover == static_cast<std::uint8_t>(Side::solver) ? dispute.solver_clock : dispute.challenger_clock;
    clock -= std::min(clock, fx.height - dispute.turn_height);
    if (game.loser)
        settle(fx, dispute, game);
    else
        give_turn(fx, dispute, game);
}

void wait_for_tiles(Effects& fx, std::uint64_t id, std::uint64_t until, bool charged) {
    auto dispute = must_load<market::Dispute>(fx.state, keys::dispute(id));
    ++(charged ? dispute.reports : dispute.moves);
    // The waits for several answers overlap; only the extension counts.
    const std::uint64_t blocks = until - std::min(until, std::max(fx.height, dispute.waits_until));
    dispute.waits_until = std::max(dispute.waits_until, until);
    dispute.challenger_clock += blocks;
    if (dispute.mover == static_cast<std::uint8_t>(Side::challenger)) dispute.deadline += blocks;
    store(fx.state, keys::dispute(id), dispute);
}

void end_wait_for_tiles(Effects& fx, std::uint64_t id) {
    auto dispute = must_load<market::Dispute>(fx.state, keys::dispute(id));
    const bool waits =
        answers_awaited(fx.state, dispute.task, dispute.run, dispute.segment, dispute.challenger).has_value();
    if (waits || dispute.waits_until <= fx.height) return;
    const std::uint64_t left = dispute.waits_until - fx.height;
    dispute.waits_until = fx.height;
    dispute.challenger_clock -= std::min(dispute.challenger_clock, left);
    const bool to_move = dispute.mover == static_cast<std::uint8_t>(Side::challenger);
    if (to_move && dispute.deadline > fx.height) {
        dispute.deadline -= std::min(dispute.deadline - fx.height, left);
        schedule_single(fx, dispute.deadline + 1, ScheduledKind::dispute_clock, id, 0);
    }
    store(fx.state, keys::dispute(id), dispute);
}

void dispute_clock(Effects& fx, std::uint64_t id) {
    auto dispute = must_load<market::Dispute>(fx.state, keys::dispute(id));
    if (dispute.state != DisputeState::open) return;
    if (fx.height <= dispute.deadline)  // Moves were made since.
        return schedule_single(fx, dispute.deadline + 1, ScheduledKind::dispute_clock, id, 0);
    auto game = views::game(fx.state, id);
    ensure(game.has_value(), "an open dispute has a game");
    verifier::expire(*game);
    settle(fx, dispute, *game);
}

void withdraw_dispute(Effects& fx, std::uint64_t id) {
    auto dispute = must_load<market::Dispute>(fx.state, keys::dispute(id));
    close_dispute(fx, dispute, DisputeState::withdrawn);
    return_bond(fx, dispute);
    DisputeDecided event;
    event.dispute = id;
    event.task = dispute.task;
    event.rounds = dispute.rounds;
    event.evidence_bytes = dispute.evidence_bytes;
    fx.emit(event);
    if (market::is_over(must_load<market::Run>(fx.state, keys::run(dispute.task, dispute.run)).state)) return;
    // An accused run continues without its accuser: an audit may have waited for the dispute.
    settle_unmatched(fx, dispute.task, dispute.run, dispute.segment);
    schedule_single(fx, fx.height + 1, ScheduledKind::payment, dispute.task, dispute.run);
}

}  // namespace retrace::contracts
