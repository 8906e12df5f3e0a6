// SPDX-License-Identifier: MIT
#include "solver/agent/agent.hpp"

#include <algorithm>

#include "solver/commitments.hpp"

namespace retrace::solver {
namespace {

/// Before a run is declined because nobody serves its first state, when its deadline is not known.
constexpr unsigned kAttempts = 3;

}  // namespace

SolverAgent::SolverAgent(SolverConfig config, Workshop& workshop, CheckpointStore& store)
    : config_(std::move(config)), workshop_(workshop), store_(store), outbox_(config_.resend_blocks) {}

SolverAgent::Output SolverAgent::on_view(const SolverView& view) {
    height_ = view.height;
    outbox_.sweep(view.height);
    Output out;
    for (const AuctionView& auction : view.auctions) bid(auction, view.height, out);
    for (const RunView& run : view.runs) play(run, view.height, out);
    measure(view, out);
    if (!busy_) {
        clean_up(view);
        give_way_ = false;
        out.work = next_work(view);
        busy_ = out.work.has_value();
    } else {
        for (const RunView& run : view.runs)
            for (const ReportView& report : run.reports)
                if (waits(report)) give_way();
    }
    return out;
}

void SolverAgent::on_done(const SolverResult& result) {
    if (const auto* measured = std::get_if<Measured>(&result)) {
        benching_ = false;
        claim_ = *measured;
        return;
    }
    if (const auto* proved = std::get_if<Proved>(&result)) {
        benching_ = false;
        proof_ = *proved;
        return;
    }
    busy_ = false;
    if (const auto* prepared = std::get_if<Prepared>(&result)) {
        prepared_[{prepared->task, prepared->run}] = *prepared;
        if (prepared->unserved) {
            retry_height_[{prepared->task, prepared->run}] = height_ + config_.resend_blocks;
            ++attempts_[{prepared->task, prepared->run}];
        }
        if (prepared->problem)
            problems_.push_back("task " + std::to_string(prepared->task) + ": " + *prepared->problem);
    } else if (const auto* reached = std::get_if<Reached>(&result)) {
        if (!reached->problem) return;  // There, or put off.
        problems_.push_back("task " + std::to_string(reached->task) + ": " + *reached->problem);
        retry_height_[{reached->task, reached->run}] = height_ + config_.resend_blocks;
    } else {
        const auto& answered = std::get<Answered>(result);
        if (!answered.answer.empty()) {
            answers_[answered.report] = answered.answer;
        } else {
            unanswerable_.insert(answered.report);
            problems_.push_back("report " + std::to_string(answered.report) + ": " + answered.problem);
        }
    }
}

std::vector<std::string> SolverAgent::take_problems() {
    return std::exchange(problems_, {});
}

bool SolverAgent::due(const char* what, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                      std::uint64_t height) {
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

std::optional<Opening> SolverAgent::opening_of(const RunView& run, std::uint64_t index) const {
    const auto commitment = store_.commitment({run.terms.id, run.run, index});
    if (!commitment) return std::nullopt;
    return Opening{index, checkpoint_salt(config_.secret, run.terms.id, run.run, index), commitment->root};
}

bool SolverAgent::hopes(const RunView& run, const Prepared& prepared) const {
    if (!prepared.unserved) return false;
    if (prepared.missing && run.may_report_kept) return true;
    if (run.accept_by != 0) return height_ + 2 * config_.resend_blocks < run.accept_by;
    const auto attempts = attempts_.find({run.terms.id, run.run});
    return prepared.missing && attempts != attempts_.end() && attempts->second < kAttempts;
}

void SolverAgent::accept(const RunView& run, const Prepared& prepared, std::uint64_t height, Output& out) {
    const std::uint64_t task = run.terms.id;
    if (prepared.missing && run.may_report_kept) {
        // The report moves the deadline of acceptData; work_for tries again meanwhile.
        if (due("report kept", task, run.run, 0, height))
            out.moves.emplace_back(
                ReportKept{task, *run.may_report_kept, run.first_state, *prepared.missing, 0});
        return;
    }
    if (hopes(run, prepared)) return;
    if (!due("accept", task, run.run, 0, height)) return;
    if (prepared.problem)
        out.moves.emplace_back(Decline{task, run.run, *prepared.problem});
    else
        out.moves.emplace_back(AcceptData{task, run.run});
}

void SolverAgent::play(const RunView& run, std::uint64_t height, Output& out) {
    const std::uint64_t task = run.terms.id;
    const auto prepared = prepared_.find({task, run.run});
    if (run.may_accept && prepared != prepared_.end()) return accept(run, prepared->second, height, out);
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

void SolverAgent::open(const RunView& run, std::uint64_t height, Output& out) {
    const std::uint64_t task = run.terms.id;
    for (const std::uint64_t index : run.open_segments) {
        const auto opening = opening_of(run, index);
        if (opening && due("open", task, run.run, index, height)) {
            out.moves.emplace_back(OpenSegment{task, run.run, *opening});
        }
    }
    for (const std::uint64_t index : run.reveal_segments) {
        const auto opening = opening_of(run, index);
        if (opening && due("reveal", task, run.run, index, height)) {
            out.moves.emplace_back(RevealSegment{task, run.run, *opening});
        }
    }
    OpenRoots roots{task, run.run, {}};
    for (const std::uint64_t index : run.open_roots) {
        const auto opening = opening_of(run, index);
        if (opening && due("roots", task, run.run, index, height)) roots.openings.push_back(*opening);
    }
    if (!roots.openings.empty()) out.moves.emplace_back(std::move(roots));
}

void SolverAgent::answer(const RunView& run, std::uint64_t height, Output& out) {
    for (const ReportView& report : run.reports) {
        const auto made = answers_.find(report.id);
        if (made == answers_.end() || !due("answer", report.id, 0, 0, height)) continue;
        out.moves.emplace_back(AnswerReport{report.id, made->second});
    }
}

bool SolverAgent::waits(const ReportView& report) const {
    return answers_.count(report.id) == 0 && unanswerable_.count(report.id) == 0;
}

std::optional<SolverWork> SolverAgent::next_work(const SolverView& view) {
    // Answers first: they have deadlines that training has not.
    for (const RunView& run : view.runs) {
        for (const ReportView& report : run.reports) {
            if (!waits(report)) continue;
            return make_order<SolverResult>("answer report " + std::to_string(report.id),
                                            Answered{report.id, {}, ""},
                                            [this, run, report] { return SolverResult(make_answer(run, report)); });
        }
    }
    for (const RunView& run : view.runs) {
        if (auto work = work_for(run)) return work;
    }
    return std::nullopt;
}

std::optional<SolverWork> SolverAgent::work_for(const RunView& run) {
    const RunKey key{run.terms.id, run.run};
    const auto retry = retry_height_.find(key);
    if (retry != retry_height_.end() && height_ < retry->second) return std::nullopt;
    const auto prepared = prepared_.find(key);
    // Time to decline in order, should it not come.
    const std::uint64_t margin = 2 * config_.resend_blocks;
    const std::uint64_t fetch_by = run.accept_by > margin ? run.accept_by - margin : run.accept_by;
    const auto preparing = [&](const char* again) {
        Prepared blank;
        blank.task = key.first;
        blank.run = key.second;
        return make_order<SolverResult>("prepare task " + std::to_string(key.first) + again, blank,
                                        [this, run] { return SolverResult(prepare(run)); }, fetch_by);
    };
    if (prepared == prepared_.end()) return preparing("");
    if (run.may_accept && hopes(run, prepared->second)) return preparing(" again");
    if (prepared->second.problem || run.may_accept) return std::nullopt;
    // The first state whose root is not known: the next to train, or one that was lost. States of before the
    // run's start belong to a predecessor.
    for (std::uint64_t index = run.first_state; index <= run.terms.schedule.segments(); ++index) {
        if (store_.commitment({key.first, key.second, index})) continue;
        return make_order<SolverResult>(
            "train task " + std::to_string(key.first) + " to checkpoint " + std::to_string(index),
            Reached{key.first, key.second, index, std::nullopt},
            [this, run, index] { return SolverResult(reach(run, index)); });
    }
    return std::nullopt;
}

void SolverAgent::clean_up(const SolverView& view) {
    std::set<RunKey> open;
    for (const RunView& run : view.runs) open.insert({run.terms.id, run.run});
    for (const RunKey& key : store_.runs()) {
        if (open.count(key) != 0) {
            over_.erase(key);
            continue;
        }
        const auto [at, first] = over_.try_emplace(key, view.height);
        if (first) {
            // Only the model is asked for from now on: the newest state.
            for (const CheckpointKey& kept : store_.retained())
                if (RunKey{kept.task, kept.run} == key) (void)store_.retain(kept, false);
            (void)store_.prune(key.first, key.second, 1);
        } else if (view.height >= at->second + config_.afterlife_blocks) {
            // What cannot be deleted now is tried again at the next view.
            if (store_.forget(key.first, key.second)) over_.erase(at);
        }
    }
    std::set<std::uint64_t> reports;
    for (const RunView& run : view.runs)
        for (const ReportView& report : run.reports) reports.insert(report.id);
    std::erase_if(answers_, [&](const auto& item) { return reports.count(item.first) == 0; });
    std::erase_if(unanswerable_, [&](std::uint64_t report) { return reports.count(report) == 0; });
    std::erase_if(put_off_, [&](const auto& item) { return open.count(item.first) == 0; });
    std::erase_if(prepared_, [&](const auto& item) { return open.count(item.first) == 0; });
    std::erase_if(retry_height_, [&](const auto& item) { return open.count(item.first) == 0; });
    std::erase_if(attempts_, [&](const auto& item) { return open.count(item.first) == 0; });
}

}  // namespace retrace::solver
