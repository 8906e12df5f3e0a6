// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/disputes/cases.hpp"

#include "contracts/lifecycle/audits/reports.hpp"
#include "contracts/lifecycle/audits/rounds.hpp"
#include "contracts/lifecycle/audits/seats.hpp"
#include "contracts/lifecycle/disputes/replicas.hpp"
#include "contracts/lifecycle/disputes/windows.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "market/escrow.hpp"
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
    remind(fx, dispute.deadline + 1, ScheduledKind::dispute_clock, dispute.id, 0);
    fx.emit(
        DisputeMoved{dispute.id, static_cast<std::uint8_t>(game.phase), dispute.mover, game.rounds, dispute.deadline});
}

/// Whether any bonded party may open such a dispute at its own cost. 18.6
bool is_at_will(DisputeKind kind) { return kind == DisputeKind::challenge || kind == DisputeKind::initial; }

/// Whose will the dispute is, as seen from one side of it.
Will will_of(const market::Dispute& dispute, const Address& party) {
    if (!is_at_will(dispute.kind)) return Will::none;
    return party == dispute.challenger ? Will::own : Will::strangers;
}

/// 15.3: sets each side's clock: earlier work, the work of this dispute, and its moves.
void give_clocks(Effects& fx, market::Dispute& dispute) {
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(dispute.task));
    const std::uint64_t work = market::dispute_work(spec, dispute.kind);
    const std::uint64_t moves = fx.params.moves * fx.params.move_blocks;
    dispute.solver_due = give_dispute_work(fx, dispute.solver, work, will_of(dispute, dispute.solver));
    dispute.challenger_due = give_dispute_work(fx, dispute.challenger, work, will_of(dispute, dispute.challenger));
    dispute.solver_clock = moves + dispute.solver_due - fx.height;
    dispute.challenger_clock = moves + dispute.challenger_due - fx.height;
}

/// Resumes the accusing replica's payments, which waited for the dispute.
void resume_payments(Effects& fx, const market::Dispute& dispute) {
    if (!market::between_replicas(dispute.kind)) return;
    for (const views::RunId& id : views::open_runs(fx.state, dispute.challenger))
        if (id.task == dispute.task) remind(fx, fx.height + 1, ScheduledKind::payment, id.task, id.run);
}

/// Whether the dispute takes one of the places that strangers share (15.2.5).
bool is_strangers(DisputeKind kind, std::uint64_t audit) { return audit == 0 && is_at_will(kind); }

/// Key under which a dispute is found without a search, for the kinds that a party opens at will or that two replicas
/// have.
keys::Key accusation_key(const market::Dispute& dispute) {
    const bool replicas = market::between_replicas(dispute.kind);
    const auto kind = static_cast<std::uint8_t>(replicas ? DisputeKind::replica : dispute.kind);
    return keys::accusation(kind, dispute.task, dispute.run, replicas ? 0 : dispute.segment, dispute.challenger);
}

void list_dispute(Effects& fx, const market::Dispute& dispute) {
    add_to_list(fx.state, keys::open_disputes(dispute.challenger), dispute.id);
    add_to_list(fx.state, keys::run_disputes(dispute.task, dispute.run), dispute.id);
    add_to_list(fx.state, keys::accusations(dispute.task, dispute.run, dispute.challenger), dispute.id);
    if (dispute.kind != DisputeKind::audit) store(fx.state, accusation_key(dispute), Counter{dispute.id});
}

void unlist_dispute(Effects& fx, const market::Dispute& dispute) {
    remove_from_list(fx.state, keys::open_disputes(dispute.challenger), dispute.id);
    remove_from_list(fx.state, keys::run_disputes(dispute.task, dispute.run), dispute.id);
    remove_from_list(fx.state, keys::accusations(dispute.task, dispute.run, dispute.challenger), dispute.id);
    if (dispute.kind != DisputeKind::audit) remove(fx.state, accusation_key(dispute));
}

void count_opened(Effects& fx, const market::Dispute& dispute) {
    auto run = must_load<market::Run>(fx.state, keys::run(dispute.task, dispute.run));
    auto segment = must_load<market::Segment>(fx.state, keys::segment(dispute.task, dispute.run, dispute.segment));
    ++run.open_disputes;
    ++segment.open_disputes;
    if (is_strangers(dispute.kind, dispute.audit)) {
        ++run.challenges;
        ++segment.challenges;
    }
    if (dispute.kind == DisputeKind::audit) segment.audit_dispute = dispute.id;
    store(fx.state, keys::run(dispute.task, dispute.run), run);
    store(fx.state, keys::segment(dispute.task, dispute.run, dispute.segment), segment);
}

/// 15.2.6: if strangers were refused, they have a whole window from here.
void count_closed(Effects& fx, const market::Dispute& dispute) {
    auto run = must_load<market::Run>(fx.state, keys::run(dispute.task, dispute.run));
    auto segment = must_load<market::Segment>(fx.state, keys::segment(dispute.task, dispute.run, dispute.segment));
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(dispute.task));
    const std::uint64_t heard = fx.height + challenge_window(fx.params, spec);
    if (is_full(run)) run.heard_until = heard;
    if (segment.challenges >= kSegmentChallengesMax && segment.window_end != 0)
        move_window(fx, dispute.task, dispute.run, segment, heard);
    --run.open_disputes;
    --segment.open_disputes;
    if (is_strangers(dispute.kind, dispute.audit)) {
        --run.challenges;
        --segment.challenges;
    }
    if (dispute.kind == DisputeKind::audit) segment.audit_dispute = 0;
    store(fx.state, keys::run(dispute.task, dispute.run), run);
    store(fx.state, keys::segment(dispute.task, dispute.run, dispute.segment), segment);
}

/// 15.9: frees the seats of auditors that waited for a dispute, because the run is over.
void free_waiting_seats(Effects& fx, std::uint64_t id) {
    auto audit = must_load<market::Audit>(fx.state, keys::audit(id));
    for (const std::uint32_t seat : audit.waiting) free_seat(fx, audit, audit.seats.at(seat));
    audit.waiting.clear();
    store(fx.state, keys::audit(id), audit);
}

/// 18.7: returns the unused allowance of a side.
void end_work_of(Effects& fx, const market::Dispute& dispute, const Address& party) {
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(dispute.task));
    const std::uint64_t work = market::dispute_work(spec, dispute.kind);
    if (!end_dispute_work(fx, party, work, dispute.opened_height, will_of(dispute, party))) return;
    // 15.2.6: until now no window of its runs had an end.
    for (const views::RunId& id : views::open_runs(fx.state, party))
        remind(fx, fx.height + 1, ScheduledKind::payment, id.task, id.run);
}

void end_work_of_both(Effects& fx, const market::Dispute& dispute) {
    if (dispute.solver_due == 0) return;  // It was decided when it opened.
    end_work_of(fx, dispute, dispute.solver);
    end_work_of(fx, dispute, dispute.challenger);
}

/// 15.10: notes a challenge that opens less than `move_blocks` before the run's deadline as it was set, or later.
void note_late(Effects& fx, const market::Dispute& dispute) {
    if (!is_at_will(dispute.kind)) return;
    const auto run = must_load<market::Run>(fx.state, keys::run(dispute.task, dispute.run));
    const std::uint64_t due = counter(fx.state, keys::begun_deadline(dispute.task, dispute.run));
    if (run.deadline == 0 || fx.height + fx.params.move_blocks < due) return;
    const auto stop = load<Stop>(fx.state, keys::stopped(run.task, run.index));
    if (stop && !stop->was_late) return;  // It waits for nothing but its cases (13.7.1).
    store(fx.state, keys::late_challenge(dispute.id), Counter{run.next_state});
}

/// 15.10.1: a challenge is not late any more when the run has committed its next state.
bool is_late(const StateView& view, const market::Dispute& dispute) {
    const std::uint64_t next_state = counter(view, keys::late_challenge(dispute.id));
    if (next_state == 0) return false;
    return must_load<market::Run>(view, keys::run(dispute.task, dispute.run)).next_state == next_state;
}

/// Removes the dispute from all lists; the record stays with its result.
void close_dispute(Effects& fx, market::Dispute& dispute, DisputeState state) {
    dispute.state = state;
    dispute.mover = 0;
    dispute.deadline = 0;
    store(fx.state, keys::dispute(dispute.id), dispute);
    remove(fx.state, keys::game(dispute.id));
    unlist_dispute(fx, dispute);
    remove(fx.state, keys::late_challenge(dispute.id));
    end_work_of_both(fx, dispute);
    count_closed(fx, dispute);
    if (dispute.kind == DisputeKind::audit && state != DisputeState::challenger_lost)
        free_waiting_seats(fx, dispute.audit);
    resume_payments(fx, dispute);
}

void return_bond(Effects& fx, const market::Dispute& dispute) {
    if (bond_is_stake(dispute.kind))
        unlock(fx, dispute.challenger, dispute.bond);
    else
        pay(fx, Contract::disputes, dispute.challenger, dispute.bond);
}

/// A party with a claim on the challenger's share, and the root that it says is right; none for an initial state.
struct Claimant {
    Address party;
    std::optional<Hash32> root;
};

/// 15.6: returns the party that gets the challenger's share. It is the first drawn auditor of the same segment whose
/// root is the winner's; otherwise an observer of the audit could take the share by challenging first. When no auditor
/// has that root, it is the auditor that plays, because an observer may claim any other root.
Claimant claimant_of(const Effects& fx, const market::Dispute& won) {
    if (market::is_initial(won.kind)) return {won.challenger, std::nullopt};  // No auditor disputes the start.
    const auto segment = must_load<market::Segment>(fx.state, keys::segment(won.task, won.run, won.segment));
    if (segment.audit_dispute == 0 || segment.audit_dispute == won.id) return {won.challenger, won.claimed_root};
    const auto playing = must_load<market::Dispute>(fx.state, keys::dispute(segment.audit_dispute));
    if (playing.claimed_root != won.claimed_root) {
        const auto audit = must_load<market::Audit>(fx.state, keys::audit(playing.audit));
        for (const std::uint32_t index : audit.waiting) {
            const market::Seat& seat = audit.seats.at(index);
            if (seat.root == won.claimed_root) return {seat.auditor, seat.root};
        }
    }
    return {playing.challenger, playing.claimed_root};
}

/// 15.9: pays the fee to each waiting auditor of the segment that says what the claimant says.
void pay_waiting_seats(Effects& fx, const market::Dispute& dispute, const Claimant& claimant) {
    const keys::Key key = keys::segment(dispute.task, dispute.run, dispute.segment);
    const auto segment = must_load<market::Segment>(fx.state, key);
    if (!claimant.root || segment.audit_dispute == 0) return;
    auto audit = must_load<market::Audit>(fx.state, keys::audit(segment.audit));
    for (const std::uint32_t index : audit.waiting) {
        market::Seat& seat = audit.seats.at(index);
        if (seat.root == *claimant.root && seat.auditor != claimant.party && !seat.paid) pay_seat(fx, audit, seat);
    }
    store(fx.state, keys::audit(audit.id), audit);
}

market::Conviction conviction_of(const Effects& fx, const market::Run& run) {
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(run.task));
    return market::conviction(run.locked, market::audit_fee(fx.params, spec), fx.params);
}

void convict_solver(Effects& fx, market::Dispute& dispute) {
    const Claimant claimant = claimant_of(fx, dispute);  // While all disputes of the segment are open.
    pay_waiting_seats(fx, dispute, claimant);
    // 15.10: that the solver of a late run does not move proves nothing.
    const bool proves =
        !is_late(fx.state, dispute) || dispute.ending != static_cast<std::uint8_t>(verifier::Ending::timeout_solver);
    close_dispute(fx, dispute, DisputeState::solver_lost);
    return_bond(fx, dispute);
    const auto run = must_load<market::Run>(fx.state, keys::run(dispute.task, dispute.run));
    const market::Conviction parts = conviction_of(fx, run);
    std::vector<Share> shares;
    if (proves) shares.push_back({dispute.challenger, parts.costs});
    if (proves || claimant.party != dispute.challenger) shares.push_back({claimant.party, parts.share});
    lose_run(fx, dispute.task, dispute.run, run.locked, shares, SlashReason::wrong_result, dispute.segment);
}

/// 15.8: convicts a replica that accused another and lost: its own root is wrong, and its run was at stake.
void convict_replica(Effects& fx, const market::Dispute& dispute) {
    for (const views::RunId& id : views::open_runs(fx.state, dispute.challenger)) {
        if (id.task != dispute.task) continue;
        const auto run = must_load<market::Run>(fx.state, keys::run(id.task, id.run));
        const market::Conviction parts = conviction_of(fx, run);
        const std::vector<Share> shares{{dispute.solver, parts.share + parts.costs}};
        return lose_run(fx, id.task, id.run, run.locked, shares, SlashReason::wrong_result, dispute.segment);
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
    if (market::between_replicas(dispute.kind))
        convict_replica(fx, dispute);
    else
        convict_accuser(fx, dispute);
    if (dispute.kind == DisputeKind::audit) open_next_dispute(fx, dispute.task, dispute.run, dispute.segment);
    settle_unmatched(fx, dispute.task, dispute.run, dispute.segment);
    advance_payments(fx, dispute.task, dispute.run);
}

void settle(Effects& fx, market::Dispute& dispute, const verifier::Game& game) {
    ensure(game.loser.has_value(), "a decided game has a loser");
    dispute.ending = static_cast<std::uint8_t>(game.ending);
    dispute.rounds = game.rounds;
    dispute.evidence_bytes = game.evidence_bytes;
    const bool solver_lost = *game.loser == Side::solver;
    fx.emit(DisputeDecided{dispute.id, solver_lost ? dispute.solver : dispute.challenger, dispute.task, dispute.ending,
                           game.rounds, game.evidence_bytes, game.found.step, game.found.op, game.found.tile,
                           game.found.link, game.found.element, game.found.claimed_bits, game.found.referee_bits});
    solver_lost ? convict_solver(fx, dispute) : convict_challenger(fx, dispute);
}

}  // namespace

bool bond_is_stake(DisputeKind kind) { return kind == DisputeKind::audit || market::between_replicas(kind); }

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
    const verifier::Game game = first_game(fx, accusation);
    note_late(fx, dispute);
    if (!game.loser) give_clocks(fx, dispute);
    count_opened(fx, dispute);
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

std::vector<Share> shares_of_accuser(const Effects& fx, const market::Run& run) {
    std::optional<market::Dispute> first;
    for (const std::uint64_t id : list<std::uint64_t>(fx.state, keys::run_disputes(run.task, run.index))) {
        const auto dispute = must_load<market::Dispute>(fx.state, keys::dispute(id));
        if (is_late(fx.state, dispute)) continue;
        const bool drawn = dispute.kind == DisputeKind::audit;
        if (!first || (drawn && first->kind != DisputeKind::audit)) first = dispute;
    }
    const market::Conviction parts = conviction_of(fx, run);
    if (first) return {{first->challenger, parts.share + parts.costs}};
    for (const std::uint64_t id : replicas_accused(fx.state, run)) {
        const auto dispute = must_load<market::Dispute>(fx.state, keys::dispute(id));
        return {{dispute.solver, parts.share + parts.costs}};
    }
    return {};
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

void pay_finders(Effects& fx, const market::Run& run, const std::vector<Share>& shares) {
    const auto has_share = [&](const Address& party) {
        return std::any_of(shares.begin(), shares.end(), [&](const Share& share) { return share.to == party; });
    };
    for (const std::uint64_t id : list<std::uint64_t>(fx.state, keys::run_disputes(run.task, run.index))) {
        const auto dispute = must_load<market::Dispute>(fx.state, keys::dispute(id));
        if (dispute.kind != DisputeKind::audit) continue;
        auto audit = must_load<market::Audit>(fx.state, keys::audit(dispute.audit));
        for (std::uint32_t index = 0; index < audit.seats.size(); ++index) {
            market::Seat& seat = audit.seats[index];
            const bool waits = std::find(audit.waiting.begin(), audit.waiting.end(), index) != audit.waiting.end();
            const bool differs = waits || seat.auditor == dispute.challenger;
            if (differs && !seat.paid && !has_share(seat.auditor)) pay_seat(fx, audit, seat);
        }
        store(fx.state, keys::audit(audit.id), audit);
    }
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
        remind(fx, dispute.deadline + 1, ScheduledKind::dispute_clock, id, 0);
    }
    store(fx.state, keys::dispute(id), dispute);
}

void dispute_clock(Effects& fx, std::uint64_t id) {
    auto dispute = must_load<market::Dispute>(fx.state, keys::dispute(id));
    if (dispute.state != DisputeState::open) return;
    if (fx.height <= dispute.deadline)  // Moves were made since.
        return remind(fx, dispute.deadline + 1, ScheduledKind::dispute_clock, id, 0);
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
    remind(fx, fx.height + 1, ScheduledKind::payment, dispute.task, dispute.run);
}

}  // namespace retrace::contracts
