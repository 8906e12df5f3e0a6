// SPDX-License-Identifier: MIT
#include "verifier/agent/audit_agent.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace retrace::verifier {

void AuditAgent::on_view(const VerifierView& view, std::vector<VerifierMove>& moves) {
    std::set<std::pair<std::uint64_t, std::uint32_t>> runs;
    for (const AuditView& seat : view.audits) {
        const bool first = seat.may_commit && runs.insert({seat.terms.id, seat.run}).second;
        const std::optional<Hash32> root = own_root(seat);
        if (!root) {
            report_missing(seat, first, moves);
            continue;
        }
        if (seat.may_commit) commit(seat, *root, moves);
        if (seat.may_reveal) reveal(seat, *root, moves);
    }
}

std::optional<Hash32> AuditAgent::own_root(const AuditView& seat) const {
    const auto commitment = context_.store.commitment({seat.terms.id, seat.run, seat.segment + 1});
    if (!commitment) return std::nullopt;
    return commitment->root;
}

void AuditAgent::report_missing(const AuditView& seat, bool first, std::vector<VerifierMove>& moves) {
    const auto missing = missing_.find(seat.id);
    if (missing == missing_.end() || !seat.may_report) return;
    // A retry is running and still has time: an honest solver on a slow connection gets this time.
    if (replaying_ == seat.id && context_.height < seat.fetch_by) return;
    if (!context_.due("report " + std::to_string(seat.id))) return;
    const solver::Unavailable& what = missing->second;
    ReportUnavailable report{*what.kind, seat.terms.id, seat.run, what.index, what.tensor, what.tile};
    // The ledger counts a report about a program or a data set for the first of a party's audits of a run, and pauses
    // the deadline of that audit. Each other audit reports its start state, which it needs as well, to pause its own
    // deadline.
    const bool of_state = what.kind == solver::ReportKind::state;
    const bool of_segment = of_state || what.kind == solver::ReportKind::message;
    const std::uint64_t start = solver::start_state_of(seat.member, seat.segment);
    if (!of_segment && !first) report = {solver::ReportKind::state, seat.terms.id, seat.run, start, 0, 0};
    if (of_state) report.index = start;
    moves.emplace_back(report);
}

void AuditAgent::commit(const AuditView& seat, const Hash32& root, std::vector<VerifierMove>& moves) {
    if (!context_.due("commit " + std::to_string(seat.id))) return;
    const VerifierConfig& config = context_.config;
    const Hash32 salt = solver::verdict_salt(config.secret, seat.id);
    moves.emplace_back(CommitVerdict{seat.id, solver::verdict_commitment(root, salt, config.address, seat.id)});
}

void AuditAgent::reveal(const AuditView& seat, const Hash32& root, std::vector<VerifierMove>& moves) {
    const VerifierConfig& config = context_.config;
    const Hash32 salt = solver::verdict_salt(config.secret, seat.id);
    if (solver::verdict_commitment(root, salt, config.address, seat.id) != seat.commitment) return;
    // An accusing verdict is revealed as well: there is no time for another replay. The second replay is made in the
    // dispute (8.2).
    if (context_.due("reveal " + std::to_string(seat.id))) moves.emplace_back(RevealVerdict{seat.id, root, salt});
}

bool AuditAgent::waits_for_replay(const AuditView& seat) const {
    const auto retry = retry_height_.find(seat.id);
    if (retry != retry_height_.end() && context_.height < retry->second) return false;
    return !own_root(seat) && !seat.start_root.is_zero() && (seat.may_commit || seat.may_reveal);
}

std::optional<Duty<AuditView>> AuditAgent::first_duty(const VerifierView& view) const {
    return earliest_duty(view.audits,
                         [&](const AuditView& seat) { return seat.id != replaying_ && waits_for_replay(seat); });
}

/// Waiting seats share the remaining time, so that a seat whose peers deliver nothing takes no time from another.
std::uint64_t AuditAgent::fetch_by(const VerifierView& view, const AuditView& seat) const {
    if (seat.fetch_by <= context_.height) return seat.fetch_by;
    const auto waiting = std::count_if(view.audits.begin(), view.audits.end(),
                                       [&](const AuditView& other) { return waits_for_replay(other); });
    const std::uint64_t share = (seat.fetch_by - context_.height) / std::max<std::uint64_t>(waiting, 1);
    return context_.height + std::max<std::uint64_t>(share, 1);
}

AgentOrder<Replayed> AuditAgent::replay_order(const VerifierView& view, const AuditView& seat) {
    const std::string name = "task " + std::to_string(seat.terms.id) + " segment " + std::to_string(seat.segment);
    replaying_ = seat.id;
    const auto is_wanted = [id = seat.id](const VerifierView& now) {
        return std::any_of(now.audits.begin(), now.audits.end(), [&](const AuditView& other) {
            return other.id == id && (other.may_commit || other.may_reveal);
        });
    };
    Replayed blank;
    blank.audit = seat.id;
    return {solver::make_order<Replayed>("replay " + name, blank, [this, seat] { return replay(seat); },
                                         fetch_by(view, seat), {seat.terms.id, seat.run}),
            is_wanted};
}

void AuditAgent::on_done(const Replayed& replayed) {
    replaying_ = 0;
    if (replayed.preempted) return;
    missing_.erase(replayed.audit);
    const std::string name = "audit " + std::to_string(replayed.audit) + ": ";
    if (!replayed.problem.empty()) context_.problems.push_back(name + replayed.problem);
    if (replayed.root) return;
    retry_height_[replayed.audit] = context_.height + context_.config.resend_blocks;
    if (replayed.missing && replayed.missing->kind) missing_[replayed.audit] = *replayed.missing;
}

void AuditAgent::forget_closed(const VerifierView& view) {
    const auto is_closed = [&](const auto& item) {
        return std::none_of(view.audits.begin(), view.audits.end(),
                            [&](const AuditView& seat) { return seat.id == item.first; });
    };
    std::erase_if(retry_height_, is_closed);
    std::erase_if(missing_, is_closed);
}

// --- Worker thread.

Replayed AuditAgent::replay(const AuditView& seat) {
    Replayed done;
    done.audit = seat.id;
    // A fetch that was cut short by preemption is no reason to report its peers.
    const auto fail = [&](const solver::Unavailable& missing) {
        done.preempted = context_.preempted();
        done.problem = missing.message;
        done.missing = missing;
        return done;
    };
    const auto inputs = replays_.inputs().segment(seat.terms, seat.run, seat.segment, seat.member);
    if (!inputs) return fail(inputs.error());
    auto begun = replays_.begin(*inputs, {seat.terms.id, seat.run, seat.segment}, seat.start_root);
    if (!begun) return fail(begun.error());
    if (!replays_.run(*inputs, *begun)) {
        done.preempted = true;
        return done;
    }
    const kernels::StateCommitment end =
        kernels::commit_state(inputs->steps->root(), begun->state, context_.task_cache.pool());
    const solver::CheckpointKey key{seat.terms.id, seat.run, seat.segment + 1};
    auto saved = context_.store.save(key, end, begun->state);
    if (saved) saved = context_.store.retain(key, true);
    if (saved)
        done.root = end.root;
    else
        done.problem = saved.error().message;
    return done;
}

}  // namespace retrace::verifier
