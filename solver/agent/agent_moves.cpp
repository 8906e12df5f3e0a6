// SPDX-License-Identifier: MIT
// The moves that the solver's agent makes in a view: it bids, accepts, commits, opens and answers.
#include <algorithm>

#include "solver/agent/agent.hpp"
#include "solver/commitments.hpp"

namespace retrace::solver {
namespace {

/// Attempts to fetch a first state that nobody serves before the run is declined, if its deadline is unknown.
constexpr unsigned kAttempts = 3;

}  // namespace

bool SolverAgent::due(const char* what, std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t height) {
    const std::string key =
        std::string(what) + " " + std::to_string(a) + " " + std::to_string(b) + " " + std::to_string(c);
    return outbox_.due(key, height);
}

void SolverAgent::bid(const AuctionView& auction, std::uint64_t height, Output& out) {
    const std::uint64_t task = auction.terms.id;
    const Hash32 salt = bid_salt(config_.secret, task, auction.round);
    if (auction.may_commit && due("bid", task, auction.round, 0, height)) {
        out.moves.emplace_back(CommitBid{task, auction.round, salt});
    }
    if (auction.may_reveal && due("reveal bid", task, auction.round, 0, height)) {
        out.moves.emplace_back(RevealBid{task, auction.round, salt});
    }
}

bool SolverAgent::data_may_still_arrive(const RunView& run, const RunRecord& record) const {
    const Prepared& prepared = *record.prepared;
    if (!prepared.transient) return false;
    if (prepared.missing && run.may_report_kept) return true;
    if (run.accept_by != 0) return height_ + 2 * config_.resend_blocks < run.accept_by;
    return prepared.missing && record.retry && record.retry->attempts < kAttempts;
}

void SolverAgent::accept(const RunView& run, const RunRecord& record, std::uint64_t height, Output& out) {
    const Prepared& prepared = *record.prepared;
    const std::uint64_t task = run.terms.id;
    if (prepared.missing && run.may_report_kept) {
        // The report moves the deadline of acceptData; work_for tries again meanwhile.
        if (due("report kept", task, run.run, 0, height))
            out.moves.emplace_back(ReportKept{task, *run.may_report_kept, run.first_state, *prepared.missing, 0});
        return;
    }
    if (data_may_still_arrive(run, record)) return;
    if (!due("accept", task, run.run, 0, height)) return;
    if (prepared.problem)
        out.moves.emplace_back(Decline{task, run.run, *prepared.problem});
    else
        out.moves.emplace_back(AcceptData{task, run.run});
}

void SolverAgent::play(const RunView& run, std::uint64_t height, Output& out) {
    const std::uint64_t task = run.terms.id;
    const RunRecord& record = record_of(run);
    if (run.may_accept && record.prepared) return accept(run, record, height, out);
    if (run.member) return play_member(run, height, out);
    if (run.may_commit) {
        const auto opening = opening_of(run, run.next_state);
        if (opening && due("commit", task, run.run, run.next_state, height)) {
            const Hash32 commitment =
                checkpoint_commitment(task, run.run, opening->index, opening->salt, opening->root);
            out.moves.emplace_back(CommitCheckpoint{task, run.run, opening->index, commitment});
        }
    }
    open(run, height, out);
    answer(run, height, out);
    if (config_.pay_for_retention && run.unkept && due("retention", task, run.run, *run.unkept, height))
        out.moves.emplace_back(RequestRetention{task, run.run, *run.unkept});
}

std::optional<Opening> SolverAgent::opening_of(const RunView& run, std::uint64_t index) {
    const auto commitment = store_.commitment({run.terms.id, run.run, index});
    if (!commitment) {
        // A state that was known is lost: mark it for recomputation.
        std::uint64_t& known = record_of(run).known;
        known = std::min(known, index);
        return std::nullopt;
    }
    return Opening{index, checkpoint_salt(config_.secret, run.terms.id, run.run, index), commitment->root};
}

void SolverAgent::open(const RunView& run, std::uint64_t height, Output& out) {
    // A state may be asked for as the start of a segment, as the end of another and by itself. Whichever opens it
    // serves all, and the others would be refused (contracts 13.9.6), so a state is opened once.
    const std::uint64_t task = run.terms.id;
    for (const std::uint64_t index : run.open_segments) {
        const auto opening = opening_of(run, index);
        if (opening && due("open", task, run.run, index, height)) {
            out.moves.emplace_back(OpenSegment{task, run.run, *opening});
        }
    }
    for (const std::uint64_t index : run.reveal_segments) {
        const auto opening = opening_of(run, index);
        if (opening && due("open", task, run.run, index, height)) {
            out.moves.emplace_back(RevealSegment{task, run.run, *opening});
        }
    }
    OpenRoots roots{task, run.run, {}};
    for (const std::uint64_t index : run.open_roots) {
        const auto opening = opening_of(run, index);
        if (opening && due("open", task, run.run, index, height)) roots.openings.push_back(*opening);
    }
    if (!roots.openings.empty()) out.moves.emplace_back(std::move(roots));
}

void SolverAgent::answer(const RunView& run, std::uint64_t height, Output& out) {
    for (const ReportView& report : run.reports) {
        const auto record = reports_.find(report.id);
        if (record == reports_.end() || record->second.answer.empty()) continue;
        if (due("answer", report.id, 0, 0, height))
            out.moves.emplace_back(AnswerReport{report.id, record->second.answer});
    }
}

}  // namespace retrace::solver
