// SPDX-License-Identifier: MIT
// Chooses the work order that the solver's agent hands out next, and when a running one is preempted.
#include <algorithm>

#include "solver/agent/agent.hpp"

namespace retrace::solver {

std::optional<SolverWork> SolverAgent::next_work(const SolverView& view) {
    const auto asked = first_report(view);
    if (slot_.dispute_goes_before(asked ? asked->place : kVoluntary)) return std::nullopt;
    if (asked) {
        slot_.take(asked->place);
        return answer_order(*asked->run, *asked->report);
    }
    std::vector<std::pair<std::uint64_t, const RunView*>> runs;
    for (const RunView& run : view.runs) runs.emplace_back(deadline_of(run), &run);
    std::stable_sort(runs.begin(), runs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [deadline, run] : runs) {
        auto work = work_for(*run);
        if (!work) continue;
        running_ = RunningOrder{key_of(*run), deadline};
        slot_.take(kVoluntary);
        return work;
    }
    auto seat = work_for_seats(view);
    if (seat) slot_.take(kVoluntary);
    return seat;
}

bool SolverAgent::waits(const ReportView& report) const {
    const auto found = reports_.find(report.id);
    if (found == reports_.end()) return true;
    const auto& [answer, retry] = found->second;
    return answer.empty() && (!retry || height_ >= retry->next(config_.resend_blocks, report.deadline));
}

std::optional<SolverAgent::Asked> SolverAgent::first_report(const SolverView& view) const {
    std::optional<Asked> first;
    for (const RunView& run : view.runs) {
        for (const ReportView& report : run.reports) {
            const std::uint64_t place = place_of(report.due, report.deadline);
            if (waits(report) && (!first || place < first->place)) first = Asked{place, &run, &report};
        }
    }
    return first;
}

/// Answers all waiting reports about the same object in one order, so that it is loaded once even without spare memory.
SolverWork SolverAgent::answer_order(const RunView& run, const ReportView& report) {
    std::vector<ReportView> others;
    for (const ReportView& other : run.reports)
        if (other.id != report.id && other.kind == report.kind && other.index == report.index && waits(other))
            others.push_back(other);
    const auto work = [this, run, report, others] {
        Answered made = make_answer(run, report);
        for (const ReportView& other : others) made.others.push_back(make_answer(run, other));
        task_cache_.bound_answers();
        return SolverResult(std::move(made));
    };
    std::string what = "answer report " + std::to_string(report.id);
    if (!others.empty()) what += " and " + std::to_string(others.size()) + " more";
    return make_order<SolverResult>(std::move(what), Answered{report.id, {}, ""}, work);
}

std::uint64_t SolverAgent::deadline_of(const RunView& run) const {
    if (run.member) return run.member->deadline == 0 ? UINT64_MAX - 1 : run.member->deadline;
    if (store_.commitment({run.terms.id, run.run, run.next_state})) return UINT64_MAX;
    return run.deadline == 0 ? UINT64_MAX - 1 : run.deadline;
}

std::optional<SolverWork> SolverAgent::work_for(const RunView& run) {
    const RunKey key = key_of(run);
    RunRecord& record = record_of(run);
    const std::uint64_t deadline = run.member ? run.member->deadline : run.deadline;
    if (record.retry && height_ < record.retry->next(config_.resend_blocks, deadline)) return std::nullopt;
    // Leaves time to decline the run if the data do not arrive.
    const std::uint64_t margin = 2 * config_.resend_blocks;
    const std::uint64_t fetch_by = run.accept_by > margin ? run.accept_by - margin : run.accept_by;
    const auto preparing = [&](const char* again) {
        Prepared blank;
        blank.task = key.first;
        blank.run = key.second;
        return make_order<SolverResult>(
            "prepare task " + std::to_string(key.first) + again, blank,
            [this, run, promised = promised_disk(key)] { return SolverResult(prepare(run, promised)); }, fetch_by, key);
    };
    if (!record.prepared) return preparing("");
    // Declining is free before the run is accepted and impossible afterwards; then missing data are waited for.
    const bool goes_on = !run.may_accept || data_may_still_arrive(run, record);
    if (record.prepared->problem) return goes_on ? std::optional(preparing(" again")) : std::nullopt;
    if (run.may_accept) return std::nullopt;
    if (run.member) return work_of_member(run);
    // Train to the first state whose root is not known: the next one, or one that was lost. States before the run's
    // start belong to a predecessor.
    std::uint64_t& known = record.known;
    const std::uint64_t last = run.given_back ? run.next_state - 1 : run.terms.schedule.segments();
    for (known = std::max(known, run.first_state); known <= last; ++known) {
        const std::uint64_t index = known;
        if (store_.commitment({key.first, key.second, index})) continue;
        return make_order<SolverResult>(
            "train task " + std::to_string(key.first) + " to checkpoint " + std::to_string(index),
            Reached{key.first, key.second, index, std::nullopt},
            [this, run, index, &suspended = record.suspended] { return SolverResult(reach(run, index, suspended)); }, 0,
            key);
    }
    return std::nullopt;
}

/// Whether the running training must be preempted: no run needs it any more, or another run's work is due earlier. So
/// a very long run, or one far ahead of its deadline, costs no other run its checkpoint.
bool SolverAgent::is_more_urgent(const SolverView& view) {
    if (prepares_seat_)
        return std::any_of(view.runs.begin(), view.runs.end(), [&](const RunView& run) { return work_for(run); });
    if (!running_) return false;
    const auto is_running = [&](const RunView& run) { return key_of(run) == running_->run; };
    if (std::none_of(view.runs.begin(), view.runs.end(), is_running)) return true;  // Nobody asks for it any more.
    for (const RunView& run : view.runs)
        if (is_running(run) && run.given_back && !work_for(run)) return true;
    // The deadline may have changed since the training started.
    for (const RunView& run : view.runs)
        if (is_running(run)) running_->deadline = deadline_of(run);
    for (const RunView& run : view.runs)
        if (!is_running(run) && deadline_of(run) < running_->deadline && work_for(run)) return true;
    return false;
}

}  // namespace retrace::solver
