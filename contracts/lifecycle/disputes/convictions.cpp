// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/disputes/convictions.hpp"

#include "contracts/lifecycle/audits/rounds.hpp"
#include "contracts/lifecycle/audits/seats.hpp"
#include "contracts/lifecycle/disputes/cases.hpp"
#include "contracts/lifecycle/disputes/open_cases.hpp"
#include "contracts/lifecycle/disputes/replicas.hpp"
#include "contracts/lifecycle/groups/rollback.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "market/escrow.hpp"

namespace retrace::contracts {
namespace {

using market::DisputeKind;
using market::DisputeState;
using verifier::Side;

/// 15.6: returns the party that gets the challenger's share. It is the first drawn auditor of the same segment whose
/// root is the winner's; otherwise an observer of the audit could take the share by challenging first. When no auditor
/// has that root, it is the auditor that plays, because an observer may claim any other root.
Address claimant_of(const Effects& fx, const market::Dispute& won) {
    if (market::is_initial(won.kind)) return won.challenger;  // No auditor disputes the start.
    const auto segment = must_load<market::Segment>(fx.state, keys::segment(won.task, won.run, won.segment));
    if (segment.audit_dispute == 0 || segment.audit_dispute == won.id) return won.challenger;
    const auto playing = must_load<market::Dispute>(fx.state, keys::dispute(segment.audit_dispute));
    if (playing.claimed_root != won.claimed_root) {
        const auto audit = must_load<market::Audit>(fx.state, keys::audit(playing.audit));
        for (const std::uint32_t index : audit.waiting) {
            const market::Seat& seat = audit.seats.at(index);
            if (seat.root == won.claimed_root) return seat.auditor;
        }
    }
    return playing.challenger;
}

/// 15.9.1: pays the fee to each auditor of the segment that waits to dispute it, whatever its root is: the claimant may
/// be the solver's own accomplice, and an auditor must not do better by not revealing.
void pay_waiting_seats(Effects& fx, const market::Dispute& dispute, const Address& claimant) {
    const keys::Key key = keys::segment(dispute.task, dispute.run, dispute.segment);
    const auto segment = must_load<market::Segment>(fx.state, key);
    if (market::is_initial(dispute.kind) || segment.audit_dispute == 0) return;
    auto audit = must_load<market::Audit>(fx.state, keys::audit(segment.audit));
    for (const std::uint32_t index : audit.waiting) {
        market::Seat& seat = audit.seats.at(index);
        if (seat.auditor != claimant && !seat.paid) pay_seat(fx, audit, seat);
    }
    store(fx.state, keys::audit(audit.id), audit);
}

market::Conviction conviction_of(const Effects& fx, const market::Run& run) {
    const auto spec = must_load<market::TaskSpec>(fx.state, keys::spec(run.task));
    return market::conviction(run.locked, market::audit_fee(fx.params, spec), fx.params);
}

/// The first segment that what was proved makes wrong. 21.13.31: a false first state is disputed with a later one.
std::uint64_t wrong_from(const market::Dispute& won) { return market::is_initial(won.kind) ? 0 : won.segment; }

/// 13.7.1: remembers what was proved, for starts that follow from it. Each run is convicted once.
void note_conviction(Effects& fx, std::uint64_t task, std::uint32_t run, std::uint64_t segment) {
    auto convictions = list<ConvictedSegment>(fx.state, keys::convictions(task));
    convictions.push_back({run, segment});
    store_list(fx.state, keys::convictions(task), convictions);
}

void convict_solver(Effects& fx, market::Dispute& dispute) {
    const Address claimant = claimant_of(fx, dispute);  // While all disputes of the segment are open.
    pay_waiting_seats(fx, dispute, claimant);
    // 15.10: that the solver of a late run does not move proves nothing.
    const bool proves = !is_late_challenge(fx.state, dispute) ||
                        dispute.ending != static_cast<std::uint8_t>(verifier::Ending::timeout_solver);
    close_dispute(fx, dispute, DisputeState::solver_lost);
    return_bond(fx, dispute);
    const SlashReason reason = proves ? SlashReason::wrong_result : SlashReason::not_played;
    repay_undone(fx, dispute.task, dispute.run, reason);
    const auto run = must_load<market::Run>(fx.state, keys::run(dispute.task, dispute.run));
    const market::Conviction parts = conviction_of(fx, run);
    std::vector<Share> shares;
    if (proves) shares.push_back({dispute.challenger, parts.costs});
    if (proves || claimant != dispute.challenger) shares.push_back({claimant, parts.share});
    if (proves) note_conviction(fx, dispute.task, dispute.run, wrong_from(dispute));
    forfeit_run(fx, dispute.task, dispute.run, run.locked, shares, reason, dispute.segment);
}

/// 15.8: convicts a replica that accused another and lost: its own root is wrong, and its run was at stake.
void convict_replica(Effects& fx, const market::Dispute& dispute) {
    for (const views::RunId& id : views::open_runs(fx.state, dispute.challenger)) {
        if (id.task != dispute.task) continue;
        const auto run = must_load<market::Run>(fx.state, keys::run(id.task, id.run));
        const market::Conviction parts = conviction_of(fx, run);
        const std::vector<Share> shares{{dispute.solver, parts.share + parts.costs}};
        note_conviction(fx, id.task, id.run, dispute.segment);
        return forfeit_run(fx, id.task, id.run, run.locked, shares, SlashReason::wrong_result, dispute.segment);
    }
}

void convict_false_challenger(Effects& fx, const market::Dispute& dispute) {
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
        convict_false_challenger(fx, dispute);
    if (dispute.kind == DisputeKind::audit) open_next_dispute(fx, dispute.task, dispute.run, dispute.segment);
    settle_unmatched(fx, dispute.task, dispute.run, dispute.segment);
    advance_payments(fx, dispute.task, dispute.run);
}

}  // namespace

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

std::vector<Share> shares_for_challenger(const Effects& fx, const market::Run& run) {
    std::optional<market::Dispute> first;
    for (const std::uint64_t id : list<std::uint64_t>(fx.state, keys::run_disputes(run.task, run.index))) {
        const auto dispute = must_load<market::Dispute>(fx.state, keys::dispute(id));
        if (is_late_challenge(fx.state, dispute)) continue;
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

bool is_disputed(const StateView& view, const market::Run& run) {
    const auto open = list<std::uint64_t>(view, keys::run_disputes(run.task, run.index));
    return std::any_of(open.begin(), open.end(), [&](std::uint64_t id) {
        return !is_late_challenge(view, must_load<market::Dispute>(view, keys::dispute(id)));
    });
}

void pay_disputing_auditors(Effects& fx, const market::Run& run, const std::vector<Share>& shares) {
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

}  // namespace retrace::contracts
