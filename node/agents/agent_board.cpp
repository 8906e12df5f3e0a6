// SPDX-License-Identifier: MIT
#include "node/agents/agent_board.hpp"

#include <algorithm>

namespace retrace::node {
namespace {

std::string number(std::uint64_t n) { return std::to_string(n); }

/// Those without a deadline come last; equal ones stay in their order.
std::vector<Duty> sorted(std::vector<Duty> duties) {
    std::ranges::stable_sort(duties, {}, [](const Duty& duty) { return duty.due == 0 ? UINT64_MAX : duty.due; });
    return duties;
}

Duty duty_of(const verifier::DisputeView& dispute) {
    const bool own = dispute.game.mover == dispute.side;
    const std::string where =
        dispute.game.claim.initialiser ? "the initial state" : "segment " + number(dispute.segment);
    return {"dispute " + number(dispute.id) + " of " + where + ": " +
                (own ? "the next move is due" : "the other side moves"),
            dispute.terms.id, own ? dispute.deadline : 0};
}

std::string what_of(const solver::RunView& run) {
    const std::string last = number(run.terms.schedule.segments());
    if (run.may_accept) return "accept the data, or decline";
    if (run.next_state > run.terms.schedule.segments()) return "all states up to " + last + " are committed: waits";
    return "checkpoint " + number(run.next_state) + " of " + last;
}

}  // namespace

std::vector<Duty> duties_of(const solver::SolverView& view, const std::vector<verifier::DisputeView>& disputes,
                            const std::vector<ReservedTask>& reserved) {
    std::vector<Duty> out;
    for (const solver::RunView& run : view.runs) {
        out.push_back({what_of(run), run.terms.id, run.deadline});
        for (const solver::ReportView& report : run.reports)
            out.push_back({"answer report " + number(report.id), run.terms.id, report.deadline});
    }
    for (const verifier::DisputeView& dispute : disputes) out.push_back(duty_of(dispute));
    for (const solver::AuctionView& auction : view.auctions)
        if (auction.may_reveal) out.push_back({"reveal the bid", auction.terms.id, 0});
    for (const ReservedTask& task : reserved) out.push_back({"be there: " + words_of(task.reservation), 0, 0});
    if (view.challenge) out.push_back({"capability challenge " + number(view.challenge->id), 0, 0});
    return sorted(std::move(out));
}

std::vector<Duty> duties_of(const verifier::VerifierView& view) {
    std::vector<Duty> out;
    for (const verifier::AuditView& audit : view.audits) {
        const std::string verdict = audit.commitment.is_zero() ? "commit the verdict" : "reveal the verdict";
        out.push_back({"audit " + number(audit.id) + " of segment " + number(audit.segment) + ": " +
                           (audit.deadline == 0 ? "waits" : verdict),
                       audit.terms.id, audit.deadline});
    }
    for (const verifier::DisputeView& dispute : view.disputes) out.push_back(duty_of(dispute));
    for (const verifier::InitialView& initial : view.initials)
        out.push_back({"check the initial state", initial.terms.id, initial.deadline});
    for (const verifier::KeptReportView& report : view.reports)
        out.push_back({"answer report " + number(report.id), report.terms.id, report.deadline});
    for (const verifier::WatchView& watch : view.watch)
        out.push_back({"watch segment " + number(watch.segment), watch.terms.id, 0});
    for (const verifier::KeepView& kept : view.keep) out.push_back({"keep state " + number(kept.index), kept.task, 0});
    return sorted(std::move(out));
}

void AgentBoard::set(AgentStatus status) {
    const std::lock_guard lock(mutex_);
    std::swap(status_, status);  // The old one is freed after the lock.
}

AgentStatus AgentBoard::get() const {
    const std::lock_guard lock(mutex_);
    return status_;
}

}  // namespace retrace::node
