// SPDX-License-Identifier: MIT
#include "solver/agent/agent.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace retrace::solver {

SolverAgent::SolverAgent(SolverConfig config, TaskCache& task_cache, CheckpointStore& store)
    : config_(std::move(config)),
      task_cache_(task_cache),
      store_(store),
      capability_(config_.bench, config_.bench_rounds_max, config_.resend_blocks),
      outbox_(config_.resend_blocks),
      slot_(config_.step_timeout) {}

SolverAgent::Output SolverAgent::on_view(const SolverView& view) {
    height_ = view.height;
    outbox_.sweep(view.height);
    for (auto& [key, record] : runs_) record.deadline = 0;
    for (const RunView& run : view.runs) {
        record_of(run).deadline = run.member ? run.member->deadline : run.deadline;
        if (run.member) update_clock(run, view.height);
    }
    note_member_views(view);
    Output out;
    // Moves that protect a stake are sent before bids, however many auctions there are.
    for (const RunView& run : view.runs) play(run, view.height, out);
    for (const AuctionView& auction : view.auctions) bid(auction, view.height, out);
    take_seats(view, out);
    CapabilityAgent::Output capability = capability_.on_view(view.height, view.challenge);
    std::move(capability.moves.begin(), capability.moves.end(), std::back_inserter(out.moves));
    out.benchmark = std::move(capability.work);
    if (!busy_) clean_up(view);
    if (slot_.is_free()) {
        out.work = next_work(view);
        busy_ = out.work.has_value();
        if (out.work) slot_.equip(*out.work);
    } else {
        if (const auto asked = first_report(view)) slot_.wait(asked->place);
        if (is_more_urgent(view)) preempt();
    }
    list_waiting(view);
    return out;
}

void SolverAgent::on_done(const SolverResult& result) {
    busy_ = prepares_seat_ = false;
    running_.reset();
    slot_.release();
    if (const auto* prepared = std::get_if<Prepared>(&result)) {
        if (prepared->preempted) return;
        RunRecord& record = runs_[{prepared->task, prepared->run}];
        record.prepared = *prepared;
        if (!prepared->problem) return record.retry.reset();
        retry_later(prepared->task, record, *prepared->problem);
    } else if (const auto* reached = std::get_if<Reached>(&result)) {
        RunRecord& record = runs_[{reached->task, reached->run}];
        if (reached->again) return on_made_again(*reached, record);
        if (!reached->problem && !reached->preempted) record.made = Made{reached->index, reached->attempt};
        if (!reached->problem) return record.retry.reset();  // Reached or preempted.
        record.known = 0;
        retry_later(reached->task, record, *reached->problem);
    } else if (const auto* gathered = std::get_if<Gathered>(&result)) {
        if (gathered->preempted) return;
        RunRecord& record = runs_[{gathered->task, gathered->run}];
        if (!gathered->problem) return record.gathering.reset();
        if (!record.gathering) record.gathering.emplace();
        record.gathering->fail(height_, *gathered->problem);
        problems_.push_back("task " + std::to_string(gathered->task) + ": round " + std::to_string(gathered->round) +
                            ": " + *gathered->problem);
    } else if (const auto* seat = std::get_if<SeatReady>(&result)) {
        on_seat(*seat);
    } else {
        const auto& answered = std::get<Answered>(result);
        on_answered(answered);
        for (const Answered& other : answered.others) on_answered(other);
    }
}

void SolverAgent::on_made_again(const Reached& reached, RunRecord& record) {
    if (reached.preempted) return;
    if (!reached.problem) return record.restoring.reset();
    if (!record.restoring) record.restoring.emplace();
    record.restoring->fail(height_, *reached.problem);
    problems_.push_back("task " + std::to_string(reached.task) + ": state " + std::to_string(reached.index) +
                        " is lost, and could not be made again: " + *reached.problem);
}

void SolverAgent::note_member_views(const SolverView& view) {
    const std::lock_guard lock(member_views_mutex_);
    std::set<RunKey> open;
    for (const RunView& run : view.runs) {
        if (!run.member) continue;
        open.insert(key_of(run));
        std::shared_ptr<const MemberView>& known = member_views_[key_of(run)];
        // The records that its segments take in do not change.
        if (known == nullptr || known->segments != run.member->segments || known->attempt != run.member->attempt)
            known = std::make_shared<const MemberView>(*run.member);
    }
    std::erase_if(member_views_, [&](const auto& item) { return !open.contains(item.first); });
}

void SolverAgent::on_answered(const Answered& answered) {
    if (answered.preempted) return;
    ReportRecord& record = reports_[answered.report];
    if (!answered.answer.empty()) {
        record.answer = answered.answer;
        return record.retry.reset();
    }
    // A missing answer costs the whole stake, so it is retried until the deadline.
    if (!record.retry) record.retry.emplace();
    record.retry->fail(height_, answered.problem);
    problems_.push_back("report " + std::to_string(answered.report) + ": " + answered.problem);
}

void SolverAgent::retry_later(std::uint64_t task, RunRecord& record, const std::string& why) {
    if (!record.retry) record.retry.emplace();
    record.retry->fail(height_, why);
    std::string text = "task " + std::to_string(task) + ": " + why;
    if (record.retry->attempts > 1) text += "; attempt " + std::to_string(record.retry->attempts);
    text += "; again at height " + std::to_string(record.retry->next(config_.resend_blocks, record.deadline));
    if (record.deadline != 0) text += ", due by " + std::to_string(record.deadline);
    problems_.push_back(std::move(text));
}

std::vector<std::string> SolverAgent::take_problems() { return std::exchange(problems_, {}); }

void SolverAgent::list_waiting(const SolverView& view) {
    waiting_.clear();
    const auto add = [&](const RunView& run, std::string what, const Retry& retry, std::uint64_t deadline) {
        waiting_.push_back({run.terms.id, run.run, std::move(what), retry.why, retry.attempts,
                            retry.next(config_.resend_blocks, deadline), deadline});
    };
    for (const RunView& run : view.runs) {
        const RunRecord& record = record_of(run);
        const bool ready = record.prepared && !record.prepared->problem;
        if (record.retry) add(run, ready ? "train" : "prepare", *record.retry, run.deadline);
        if (record.restoring) add(run, "make a lost state again", *record.restoring, 0);
        for (const ReportView& report : run.reports)
            if (const auto failed = reports_.find(report.id); failed != reports_.end() && failed->second.retry)
                add(run, "answer report " + std::to_string(report.id), *failed->second.retry, report.deadline);
    }
}

void SolverAgent::clean_up(const SolverView& view) {
    std::set<RunKey> open(view.not_over.begin(), view.not_over.end());
    for (const RunView& run : view.runs) open.insert(key_of(run));
    for (const RunKey& key : store_.runs()) {
        std::optional<std::uint64_t>& over_since = runs_[key].over_since;
        if (open.count(key) != 0) {
            over_since.reset();
        } else if (!over_since) {
            over_since = view.height;
            // From now on only the model, the newest state, is asked for.
            for (const CheckpointKey& kept : store_.retained())
                if (RunKey{kept.task, kept.run} == key) (void)store_.retain(kept, false);
            (void)store_.prune(key.first, key.second, 1);
        } else if (view.height >= *over_since + config_.retention_blocks) {
            // A failed deletion is retried at the next view.
            if (config_.messages != nullptr) config_.messages->keep_from(key.first, UINT32_MAX);
            if (store_.forget(key.first, key.second)) over_since.reset();
        }
    }
    // The record of a run that is over holds only since when.
    for (auto& [key, record] : runs_)
        if (open.count(key) == 0) record = RunRecord{.over_since = record.over_since};
    std::erase_if(runs_, [&](const auto& item) { return open.count(item.first) == 0 && !item.second.over_since; });
    std::set<std::uint64_t> reports;
    for (const RunView& run : view.runs)
        for (const ReportView& report : run.reports) reports.insert(report.id);
    if (reports.empty() && slot_.is_free()) task_cache_.answers().clear();
    std::erase_if(reports_, [&](const auto& item) { return reports.count(item.first) == 0; });
}

}  // namespace retrace::solver
