// SPDX-License-Identifier: MIT
// Audits, disputes, reports and the retention of states.
#include "contracts/records/store.hpp"
#include "solver/artifacts/availability.hpp"
#include "solver/commitments.hpp"
#include "tests/stateful/group_states.hpp"
#include "tests/stateful/send.hpp"

namespace retrace::stateful {

using namespace contracts;
using market::AuditPhase;
using market::ReportKind;
using market::SeatState;

void Players::report(const Address& who, ReportKind kind, std::uint64_t task, std::uint32_t run, std::uint64_t index) {
    send(who,
         ReportUnavailable{static_cast<std::uint8_t>(kind), task, run, index,
                           static_cast<std::uint32_t>(draws_.below(3)), draws_.below(3)},
         profile_.params.report_fee);
}

void Players::serve_seat(const market::Audit& audit, const market::Seat& seat) {
    const TaskModel& task = mirror().tasks[audit.task - 1];
    const Hash32 salt = Secrets::salt(audit.id, 2, 2);
    Hash32 root = secrets_.verdict_root(task.spec, audit, seat.auditor);
    if (task.group && root == secrets_.true_root(task.spec, audit.segment + 1))
        root = MemberCalls(world_.state(), task.runs[audit.run].run).right_root(audit.segment + 1);
    if (audit.phase == AuditPhase::collecting && seat.state == SeatState::drawn) {
        if (draws_.one_in(12)) {
            const auto kind = static_cast<ReportKind>(draws_.between(1, 3));
            const auto message = message_taken_in(audit);
            if (message && draws_.one_in(2))
                report(seat.auditor, ReportKind::message, audit.task, audit.run, *message);
            else
                report(seat.auditor, kind, audit.task, audit.run, kind == ReportKind::state ? audit.segment : 0);
        } else if (diligent()) {
            send(seat.auditor,
                 CommitVerdict{audit.id, solver::verdict_commitment(root, salt, seat.auditor.bytes, audit.id)});
        }
    }
    if (audit.phase == AuditPhase::verdicts && seat.state == SeatState::committed && diligent()) {
        to_attest_.insert(audit.id);
        send(seat.auditor, RevealVerdict{audit.id, root, salt});
    }
}

void Players::serve_audit(const market::Audit& audit) {
    const TaskModel& task = mirror().tasks[audit.task - 1];
    const Address solver = task.runs[audit.run].run.solver;
    const std::uint64_t start = audit.segment, end = start + 1;
    const bool opens = !task.group && diligent();  // A member opens its states itself.
    if (audit.phase == AuditPhase::opening && opens)
        send(solver, OpenSegment{audit.task, audit.run, start, Secrets::salt(audit.task, audit.run, start),
                                 secrets_.run_root(task, audit.run, start)});
    if (audit.phase == AuditPhase::revealing && audit.deadline != 0 && opens)
        send(solver, RevealSegment{audit.task, audit.run, start, Secrets::salt(audit.task, audit.run, end),
                                   secrets_.run_root(task, audit.run, end)});
    for (std::size_t i = 0; i < audit.seats.size(); ++i) {
        // An auditor's call may end the phase or the audit.
        const market::Audit now = mirror().audits[audit.id - 1];
        if (now.phase == audit.phase && i < now.seats.size()) serve_seat(now, now.seats[i]);
    }
}

void Players::serve_audits() {
    const std::vector<std::uint64_t> open(mirror().open_audits.begin(), mirror().open_audits.end());
    for (const std::uint64_t id : open) {
        if (out_of_gas()) return;
        const market::Audit audit = mirror().audits[id - 1];
        serve_audit(audit);
    }
}

void Players::serve_disputes() {
    using namespace verifier;
    const std::vector<std::uint64_t> open(mirror().open_disputes.begin(), mirror().open_disputes.end());
    for (const std::uint64_t id : open) {
        if (out_of_gas()) return;
        const market::Dispute dispute = mirror().disputes[id - 1];
        if (dispute.state != market::DisputeState::open) continue;
        if (draws_.one_in(30))
            report(dispute.challenger, static_cast<ReportKind>(draws_.between(1, 3)), dispute.task, dispute.run,
                   dispute.segment);
        if (!draws_.one_in(2)) continue;
        const auto game = views::game(world_.state(), id);
        if (!game) continue;
        if (game->mover == Side::challenger) {
            if (!diligent()) continue;
            const std::size_t posted = game->posted.size();
            const std::size_t index = draws_.one_in(4) ? draws_.below(posted + 1) : posted;
            send(dispute.challenger, PlayMove{id, encode(Move{Choose{static_cast<std::uint32_t>(index)}})});
            continue;
        }
        if (game->phase == Phase::search_steps) {
            PostHashes post;
            for (const std::uint64_t step : search_positions(game->search))
                post.hashes.push_back(secrets_.root(step, Secrets::Truth::right));
            send(dispute.solver, PlayMove{id, encode(Move{post})});
        } else if (game->phase == Phase::open_state) {
            const std::uint64_t step = game->claim.initialiser ? 0 : game->found.step + 1;
            for (const auto truth : {Secrets::Truth::right, Secrets::Truth::wrong})
                if (secrets_.root(step, truth) == game->search.high_hash && !draws_.one_in(10))
                    send(dispute.solver,
                         PlayMove{id, encode(Move{OpenState{secrets_.header(step, truth), secrets_.program()}})});
        }
    }
}

void Players::answer(const market::Report& report) {
    const TaskModel& task = mirror().tasks[report.task - 1];
    const RunModel& run = task.runs[report.run];
    if (report.kind == ReportKind::program)
        return (void)send(run.run.solver,
                          AnswerUnavailable{report.id, encode(solver::ProgramAnswer{secrets_.program(), {}, {}})});
    solver::TileAnswer answer;
    if (report.kind == ReportKind::data) {
        answer.header = secrets_.data();
        return (void)send(run.run.solver, AnswerUnavailable{report.id, encode(answer)});
    }
    const auto state = run.states.find(report.index);
    if (state == run.states.end() || task.group) return;  // A member's tiles cannot be made up.
    const std::uint64_t step = std::min(task.spec.steps, report.index * task.spec.interval);
    const bool wrong = state->second.root == secrets_.root(step, Secrets::Truth::wrong);
    answer.state = solver::TileAnswer::InState{
        secrets_.header(step, wrong ? Secrets::Truth::wrong : Secrets::Truth::right), secrets_.program(), {}};
    Address who = run.run.solver;
    if (report.kind == ReportKind::kept) {
        if (state->second.keepers.empty()) return;
        who = draws_.pick(state->second.keepers);
    }
    send(who, AnswerUnavailable{report.id, encode(answer)});
}

void Players::serve_reports() {
    const std::vector<std::uint64_t> open(mirror().open_reports.begin(), mirror().open_reports.end());
    for (const std::uint64_t id : open) {
        const market::Report report = mirror().reports[id - 1];
        // Some reports are never answered.
        if (report.state == market::ReportState::open && mixed(id) % 12 != 0 && diligent()) answer(report);
    }
}

void Players::serve_retention() {
    for (auto id = to_attest_.begin(); id != to_attest_.end();) {
        const market::Audit audit = mirror().audits[*id - 1];
        bool done = true;
        for (const market::Seat& seat : audit.seats) {
            if (seat.state == SeatState::committed) done = false;
            if (seat.state != SeatState::matched || seat.paid) continue;
            if (diligent() && mixed(audit.id) % 100 < profile_.attests)
                send(seat.auditor, AttestRetention{audit.task, audit.run, audit.segment + 1});
        }
        id = done ? to_attest_.erase(id) : std::next(id);
    }
    const std::vector<std::uint64_t> open(mirror().open_retentions.begin(), mirror().open_retentions.end());
    for (const std::uint64_t id : open) {
        const market::Retention offer = mirror().retentions[id - 1];
        if (profile_.verifiers != 0 && draws_.one_in(3))
            send(verifier(), AttestRetention{offer.task, offer.run, offer.index});
    }
}

}  // namespace retrace::stateful
