// SPDX-License-Identifier: MIT
#include "contracts/disputes/cases.hpp"

#include "contracts/audits/rounds.hpp"
#include "contracts/disputes/replicas.hpp"
#include "contracts/market/runs.hpp"
#include "market/escrow.hpp"

namespace retrace::contracts {
namespace {

using market::DisputeKind;
using market::DisputeState;
using verifier::Side;

/// Half of what a list holds: the rest is for disputes between replicas, which are few (15.8.1).
constexpr std::size_t kPartyDisputesMax = market::kRecordListMax / 2;

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
    if (claim.initialiser) {
        claim.end_root = root(0);
    } else {
        claim.first_step = spec.first_step(accusation.segment);
        claim.last_step = spec.last_step(accusation.segment);
        claim.start_root = root(accusation.segment);
        claim.end_root = root(accusation.segment + 1);
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
    remind(fx, dispute.deadline + 1, DueKind::dispute_clock, dispute.id, 0);
    fx.emit(DisputeMoved{dispute.id, static_cast<std::uint8_t>(game.phase), dispute.mover, game.rounds,
                         dispute.deadline});
}

/// The accusing replica's payments waited for the dispute.
void resume_payments(Effects& fx, const market::Dispute& dispute) {
    if (!market::between_replicas(dispute.kind)) return;
    for (const views::RunId& id : views::open_runs(fx.state, dispute.challenger))
        if (id.task == dispute.task) remind(fx, fx.height + 1, DueKind::payment, id.task, id.run);
}

/// 15.2.6: strangers were refused while the segment was full; they have a window of their own after that.
void reopen_window(Effects& fx, const market::Dispute& dispute, market::Segment& segment) {
    if (segment.open_disputes < kSegmentDisputesMax || segment.window_end == 0) return;
    segment.window_end = std::max(segment.window_end, fx.height + fx.params.challenge_blocks);
    remind(fx, segment.window_end, DueKind::payment, dispute.task, dispute.run);
}

/// Off all lists; the record stays with its result.
void close_dispute(Effects& fx, market::Dispute& dispute, DisputeState state) {
    dispute.state = state;
    dispute.mover = 0;
    dispute.deadline = 0;
    store(fx.state, keys::dispute(dispute.id), dispute);
    remove(fx.state, keys::game(dispute.id));
    remove_from_list(fx.state, keys::open_disputes(dispute.solver), dispute.id);
    remove_from_list(fx.state, keys::open_disputes(dispute.challenger), dispute.id);
    remove_from_list(fx.state, keys::run_disputes(dispute.task, dispute.run), dispute.id);
    auto segment = must_load<market::Segment>(fx.state, keys::segment(dispute.task, dispute.run, dispute.segment));
    reopen_window(fx, dispute, segment);
    --segment.open_disputes;
    store(fx.state, keys::segment(dispute.task, dispute.run, dispute.segment), segment);
    auto run = must_load<market::Run>(fx.state, keys::run(dispute.task, dispute.run));
    --run.open_disputes;
    store(fx.state, keys::run(dispute.task, dispute.run), run);
    resume_payments(fx, dispute);
}

void return_bond(Effects& fx, const market::Dispute& dispute) {
    if (bond_is_stake(dispute.kind)) unlock(fx, dispute.challenger, dispute.bond);
    else pay(fx, Contract::disputes, dispute.challenger, dispute.bond);
}

/// The challenger's share goes to a drawn auditor of the same segment that plays too, if there is one (15.6):
/// otherwise whoever watches the audit could take it by challenging first.
Address beneficiary(const Effects& fx, const market::Dispute& won) {
    if (won.kind == DisputeKind::audit) return won.challenger;
    for (const std::uint64_t id : list<std::uint64_t>(fx.state, keys::run_disputes(won.task, won.run))) {
        const auto other = must_load<market::Dispute>(fx.state, keys::dispute(id));
        if (other.kind == DisputeKind::audit && other.segment == won.segment) return other.challenger;
    }
    return won.challenger;
}

market::Conviction conviction_of(const Effects& fx, const market::Run& run) {
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(run.task));
    return market::conviction(run.locked, market::audit_fee(fx.params, spec), fx.params);
}

void convict_solver(Effects& fx, market::Dispute& dispute) {
    close_dispute(fx, dispute, DisputeState::solver_lost);
    return_bond(fx, dispute);
    const auto run = must_load<market::Run>(fx.state, keys::run(dispute.task, dispute.run));
    const market::Conviction parts = conviction_of(fx, run);
    const std::vector<Share> shares{{dispute.challenger, parts.costs}, {beneficiary(fx, dispute), parts.share}};
    lose_run(fx, dispute.task, dispute.run, run.locked, shares, SlashReason::wrong_result);
}

/// 15.8: a replica that accused another and lost has a wrong root of its own; its run is what was at stake.
void convict_replica(Effects& fx, const market::Dispute& dispute) {
    for (const views::RunId& id : views::open_runs(fx.state, dispute.challenger)) {
        if (id.task != dispute.task) continue;
        const auto run = must_load<market::Run>(fx.state, keys::run(id.task, id.run));
        const market::Conviction parts = conviction_of(fx, run);
        const std::vector<Share> shares{{dispute.solver, parts.share + parts.costs}};
        return lose_run(fx, id.task, id.run, run.locked, shares, SlashReason::wrong_result);
    }
}

void convict_accuser(Effects& fx, const market::Dispute& dispute) {
    const market::Split parts = market::split(dispute.bond, fx.params.solver_cost_bp);
    if (bond_is_stake(dispute.kind)) {
        slash_locked(fx, dispute.challenger, dispute.task, dispute.bond, {{dispute.solver, parts.share}},
                     SlashReason::false_accusation);
    } else {
        pay(fx, Contract::disputes, dispute.solver, parts.share);
        burn_held(fx, Contract::disputes, parts.burned);
        fx.emit(Slashed{dispute.challenger, dispute.task, dispute.bond, parts.burned, parts.share,
                        std::string(slug(SlashReason::false_accusation))});
    }
}

void convict_challenger(Effects& fx, market::Dispute& dispute) {
    close_dispute(fx, dispute, DisputeState::challenger_lost);
    if (market::between_replicas(dispute.kind)) convict_replica(fx, dispute);
    else convict_accuser(fx, dispute);
    settle_unmatched(fx, dispute.task, dispute.run, dispute.segment);
    advance_payments(fx, dispute.task, dispute.run);
}

void settle(Effects& fx, market::Dispute& dispute, const verifier::Game& game) {
    ensure(game.loser.has_value(), "a decided game has a loser");
    dispute.ending = static_cast<std::uint8_t>(game.ending);
    dispute.rounds = game.rounds;
    dispute.evidence_bytes = game.evidence_bytes;
    const bool solver_lost = *game.loser == Side::solver;
    fx.emit(DisputeDecided{dispute.id, solver_lost ? dispute.solver : dispute.challenger, dispute.task,
                           dispute.ending, game.rounds, game.evidence_bytes, game.found.step, game.found.op,
                           game.found.tile, game.found.link, game.found.element, game.found.claimed_bits,
                           game.found.referee_bits});
    solver_lost ? convict_solver(fx, dispute) : convict_challenger(fx, dispute);
}

}  // namespace

bool bond_is_stake(DisputeKind kind) { return kind == DisputeKind::audit || market::between_replicas(kind); }

bool may_dispute(const StateView& view, const Address& solver, const Address& challenger) {
    return views::open_disputes(view, solver).size() < kPartyDisputesMax &&
           views::open_disputes(view, challenger).size() < kPartyDisputesMax;
}

std::uint64_t open_dispute(Effects& fx, const Accusation& accusation) {
    auto run = must_load<market::Run>(fx.state, keys::run(accusation.task, accusation.run));
    auto segment = must_load<market::Segment>(fx.state,
                                              keys::segment(accusation.task, accusation.run, accusation.segment));
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(accusation.task));
    ++run.open_disputes;
    ++segment.open_disputes;
    store(fx.state, keys::run(accusation.task, accusation.run), run);
    store(fx.state, keys::segment(accusation.task, accusation.run, accusation.segment), segment);

    market::Dispute dispute;
    dispute.id = next_id(fx.state, keys::dispute_count());
    dispute.kind = accusation.kind;
    dispute.state = DisputeState::open;
    dispute.task = accusation.task;
    dispute.run = accusation.run;
    dispute.segment = accusation.segment;
    dispute.solver = run.solver;
    dispute.challenger = accusation.challenger;
    dispute.audit = accusation.audit;
    dispute.claimed_root = accusation.claimed_root;
    dispute.bond = accusation.bond;
    dispute.opened_height = fx.height;
    const std::uint64_t moves = fx.params.moves * fx.params.move_blocks;
    // 15.3: many paid challengers must not exhaust an honest solver's clock.
    dispute.solver_clock = moves + spec.replay_blocks * run.open_disputes;
    // 15.3: a replica accuses because the ledger makes it, and each case is about another segment.
    const bool replica = market::between_replicas(accusation.kind);
    const std::uint64_t other_cases = replica ? replicas_accused(fx.state, run.task, accusation.challenger) : 0;
    dispute.challenger_clock = moves + spec.replay_blocks * (1 + other_cases);
    add_to_list(fx.state, keys::open_disputes(dispute.solver), dispute.id);
    add_to_list(fx.state, keys::open_disputes(dispute.challenger), dispute.id);
    add_to_list(fx.state, keys::run_disputes(dispute.task, dispute.run), dispute.id);
    fx.emit(DisputeOpened{dispute.id, dispute.task, dispute.run, dispute.segment,
                          static_cast<std::uint8_t>(dispute.kind), dispute.solver, dispute.challenger});
    const verifier::Game game = first_game(fx, accusation);
    if (game.loser) settle(fx, dispute, game);
    else give_turn(fx, dispute, game);
    return dispute.id;
}

void after_move(Effects& fx, market::Dispute& dispute, const verifier::Game& game) {
    std::uint64_t& clock =
        dispute.mover == static_cast<std::uint8_t>(Side::solver) ? dispute.solver_clock : dispute.challenger_clock;
    clock -= std::min(clock, fx.height - dispute.turn_height);
    if (game.loser) settle(fx, dispute, game);
    else give_turn(fx, dispute, game);
}

void wait_for_tiles(Effects& fx, std::uint64_t id) {
    auto dispute = must_load<market::Dispute>(fx.state, keys::dispute(id));
    ++dispute.reports;
    dispute.challenger_clock += fx.params.answer_blocks;
    if (dispute.mover == static_cast<std::uint8_t>(Side::challenger)) dispute.deadline += fx.params.answer_blocks;
    store(fx.state, keys::dispute(id), dispute);
}

void dispute_clock(Effects& fx, std::uint64_t id) {
    auto dispute = must_load<market::Dispute>(fx.state, keys::dispute(id));
    if (dispute.state != DisputeState::open) return;
    if (fx.height <= dispute.deadline)  // Moves were made since.
        return remind(fx, dispute.deadline + 1, DueKind::dispute_clock, id, 0);
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
    // A run that was accused goes on without its accuser: an audit may have waited for the dispute.
    settle_unmatched(fx, dispute.task, dispute.run, dispute.segment);
    remind(fx, fx.height + 1, DueKind::payment, dispute.task, dispute.run);
}

}  // namespace retrace::contracts
