// SPDX-License-Identifier: MIT
#include "node/agents/solver_journal.hpp"

#include <algorithm>
#include <cstdio>
#include <variant>

#include "node/agents/public_reason.hpp"

namespace retrace::node {
namespace {

constexpr std::chrono::seconds kProgressPause{30};
constexpr std::size_t kMetricsMax = 4;

std::string number_text(double value) {
    char out[32];
    std::snprintf(out, sizeof out, "%.6g", value);
    return out;
}

std::string seconds_text(std::chrono::steady_clock::duration time) {
    char out[32];
    std::snprintf(out, sizeof out, "%.2f s", std::chrono::duration<double>(time).count());
    return out;
}

std::string failed(const std::string& why) { return "failed: " + std::string(public_reason(why)); }

/// How an order of work ended, after how long.
struct Ending {
    std::string took;
    template <class Result>
    std::string operator()(const Result& result) const {
        if (result.preempted) return "put aside for more urgent work after " + took;
        return result.problem ? failed(*result.problem) + ", after " + took : "done in " + took;
    }
    std::string operator()(const solver::Answered& result) const {
        if (result.preempted) return "put aside for more urgent work after " + took;
        return result.problem.empty() ? "done in " + took : failed(result.problem) + ", after " + took;
    }
};

}  // namespace

void SolverJournal::note(std::uint64_t task, std::uint32_t run, std::string text) {
    std::uint64_t height = 0;
    {
        const std::lock_guard lock(mutex_);
        height = height_;
    }
    journals_.add(task, {height, run, std::move(text)});
}

void SolverJournal::on_view(const solver::SolverView& view, const std::map<std::uint64_t, ledger::Address>& requesters,
                            const std::vector<solver::FailedWork>& waiting) {
    std::map<std::uint64_t, std::uint32_t> runs, before;
    std::set<std::uint64_t> tasks, of_private_data;
    for (const solver::RunView& run : view.runs) {
        runs[run.terms.id] = run.run;
        tasks.insert(run.terms.id);
        if (run.terms.group && run.terms.group->private_sets != 0) of_private_data.insert(run.terms.id);
    }
    {
        const std::lock_guard lock(mutex_);
        height_ = view.height;
        before = std::exchange(runs_, runs);
        private_ = std::move(of_private_data);
        std::erase_if(progressed_, [&](const auto& item) { return !runs.contains(item.first); });
    }
    for (const auto& [task, run] : before)
        if (!runs.contains(task)) note(task, run, "the run is over");
    for (const solver::RunView& run : view.runs) {
        const auto requester = requesters.find(run.terms.id);
        if (requester == requesters.end()) continue;
        journals_.begin(run.terms.id, requester->second);
        note(run.terms.id, run.run,
             "run " + std::to_string(run.run) + " from checkpoint " + std::to_string(run.first_state) + "; " +
                 machine_ + " trains it");
    }
    decltype(attempts_) attempts;
    for (const solver::FailedWork& work : waiting) {
        const auto key = std::pair(solver::RunKey{work.task, work.run}, work.what);
        attempts[key] = work.attempts;
        const auto known = attempts_.find(key);
        if (known != attempts_.end() && known->second == work.attempts) continue;
        note(work.task, work.run,
             work.what + " " + failed(work.why) + "; attempt " + std::to_string(work.attempts) +
                 ", the next at block " + std::to_string(work.next) +
                 (work.deadline == 0 ? std::string() : ", due by block " + std::to_string(work.deadline)));
    }
    attempts_ = std::move(attempts);
    journals_.update(view.height, tasks, keep_);
}

void SolverJournal::on_move(const solver::SolverMove& move) {
    if (const auto* accept = std::get_if<solver::AcceptData>(&move))
        note(accept->task, accept->run, "the program and the data are here: accepts");
    else if (const auto* decline = std::get_if<solver::Decline>(&move))
        note(decline->task, decline->run, "declines: " + std::string(public_reason(decline->reason)));
    else if (const auto* commit = std::get_if<solver::CommitCheckpoint>(&move))
        note(commit->task, commit->run, "commits to checkpoint " + std::to_string(commit->index));
    else if (const auto* round = std::get_if<solver::CommitRound>(&move))
        note(round->task, round->run,
             "sends its message of round " + std::to_string(round->base) + ", of " + std::to_string(round->steps) +
                 " steps");
}

void SolverJournal::on_progress(std::uint64_t task, const solver::Progress& progress) {
    std::uint32_t run = 0;
    std::size_t metrics = std::min(progress.metrics.size(), kMetricsMax);
    {
        const std::lock_guard lock(mutex_);
        if (private_.contains(task)) metrics = 0;
        const auto known = runs_.find(task);
        if (known == runs_.end()) return;
        run = known->second;
        const auto [last, is_first] = progressed_.try_emplace(task, Clock::now());
        if (!is_first && Clock::now() < last->second + kProgressPause) return;
        last->second = Clock::now();
    }
    std::string text = "step " + std::to_string(progress.step);
    for (std::size_t i = 0; i < metrics; ++i)
        text += ", " + progress.metrics[i].name.substr(0, 32) + " " + number_text(progress.metrics[i].value);
    note(task, run, std::move(text));
}

solver::SolverWork SolverJournal::timed(solver::SolverWork order) {
    auto run = [this, run = std::move(order.run), of = order.fetches_of, what = order.what] {
        const auto start = Clock::now();
        solver::SolverResult result = run();
        const Ending ending{seconds_text(Clock::now() - start)};
        note(of.first, of.second, what + ": " + std::visit(ending, result));
        return result;
    };
    order.run = std::move(run);
    return order;
}

}  // namespace retrace::node
