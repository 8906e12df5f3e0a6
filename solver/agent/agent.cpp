// SPDX-License-Identifier: MIT
#include "solver/agent/agent.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "solver/commitments.hpp"

namespace retrace::solver {
namespace {

/// Attempts to fetch a first state that nobody serves before the run is declined, if its deadline is unknown.
constexpr unsigned kAttempts = 3;

}  // namespace

SolverAgent::SolverAgent(SolverConfig config, TaskCache& task_cache, CheckpointStore& store)
    : config_(std::move(config)), task_cache_(task_cache), store_(store),
      capability_(config_.bench, config_.bench_rounds_max, config_.resend_blocks), outbox_(config_.resend_blocks),
      slot_(config_.step_timeout) {}

SolverAgent::Output SolverAgent::on_view(const SolverView& view) {
    height_ = view.height;
    outbox_.sweep(view.height);
    for (auto& [key, record] : runs_) record.deadline = 0;
    for (const RunView& run : view.runs) record_of(run).deadline = run.deadline;
    Output out;
    // Moves that protect a stake are sent before bids, however many auctions there are.
    for (const RunView& run : view.runs) play(run, view.height, out);
    for (const AuctionView& auction : view.auctions) bid(auction, view.height, out);
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
        if (is_more_urgent(view)) give_way();
    }
    list_waiting(view);
    return out;
}

void SolverAgent::on_done(const SolverResult& result) {
    busy_ = false;
    running_.reset();
    slot_.release();
    if (const auto* prepared = std::get_if<Prepared>(&result)) {
        if (prepared->put_off) return;
        RunRecord& record = runs_[{prepared->task, prepared->run}];
        record.prepared = *prepared;
        if (!prepared->problem) return record.retry.reset();
        retry_later(prepared->task, record, *prepared->problem);
    } else if (const auto* reached = std::get_if<Reached>(&result)) {
        RunRecord& record = runs_[{reached->task, reached->run}];
        if (!reached->problem) return record.retry.reset();  // Reached or put off.
        record.known = 0;
        retry_later(reached->task, record, *reached->problem);
    } else {
        const auto& answered = std::get<Answered>(result);
        on_answered(answered);
        for (const Answered& other : answered.others) on_answered(other);
    }
}

void SolverAgent::on_answered(const Answered& answered) {
    if (answered.put_off) return;
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

bool SolverAgent::hopes(const RunView& run, const RunRecord& record) const {
    const Prepared& prepared = *record.prepared;
    if (!prepared.may_pass) return false;
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
            out.moves.emplace_back(
                ReportKept{task, *run.may_report_kept, run.first_state, *prepared.missing, 0});
        return;
    }
    if (hopes(run, record)) return;
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
        const auto record = reports_.find(report.id);
        if (record == reports_.end() || record->second.answer.empty()) continue;
        if (due("answer", report.id, 0, 0, height))
            out.moves.emplace_back(AnswerReport{report.id, record->second.answer});
    }
}

bool SolverAgent::waits(const ReportView& report) const {
    const auto found = reports_.find(report.id);
    if (found == reports_.end()) return true;
    const auto& [answer, retry] = found->second;
    return answer.empty() && (!retry || height_ >= retry->next(config_.resend_blocks, report.deadline));
}

std::uint64_t SolverAgent::deadline_of(const RunView& run) const {
    if (store_.commitment({run.terms.id, run.run, run.next_state})) return UINT64_MAX;
    return run.deadline == 0 ? UINT64_MAX - 1 : run.deadline;
}

/// Whether the running training has to give way: nobody asks for it any more, or another run's work is due earlier. So
/// a very long run, or one far ahead of its deadline, costs no other run its checkpoint.
bool SolverAgent::is_more_urgent(const SolverView& view) {
    if (!running_) return false;
    const auto is_running = [&](const RunView& run) { return RunKey{run.terms.id, run.run} == running_->run; };
    if (std::none_of(view.runs.begin(), view.runs.end(), is_running)) return true;  // Nobody asks for it any more.
    // The deadline may have changed since the training started.
    for (const RunView& run : view.runs)
        if (is_running(run)) running_->deadline = deadline_of(run);
    for (const RunView& run : view.runs)
        if (!is_running(run) && deadline_of(run) < running_->deadline && work_for(run)) return true;
    return false;
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

std::optional<SolverWork> SolverAgent::next_work(const SolverView& view) {
    const auto asked = first_report(view);
    if (slot_.dispute_goes_before(asked ? asked->place : kUnasked)) return std::nullopt;
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
        running_ = RunningOrder{{run->terms.id, run->run}, deadline};
        slot_.take(kUnasked);
        return work;
    }
    return std::nullopt;
}

std::optional<SolverWork> SolverAgent::work_for(const RunView& run) {
    const RunKey key{run.terms.id, run.run};
    RunRecord& record = record_of(run);
    if (record.retry && height_ < record.retry->next(config_.resend_blocks, run.deadline)) return std::nullopt;
    // Leaves time to decline the run if the data do not arrive.
    const std::uint64_t margin = 2 * config_.resend_blocks;
    const std::uint64_t fetch_by = run.accept_by > margin ? run.accept_by - margin : run.accept_by;
    const auto preparing = [&](const char* again) {
        Prepared blank;
        blank.task = key.first;
        blank.run = key.second;
        return make_order<SolverResult>("prepare task " + std::to_string(key.first) + again, blank,
                                        [this, run] { return SolverResult(prepare(run)); }, fetch_by);
    };
    if (!record.prepared) return preparing("");
    // Declining is free before the run is accepted and impossible afterwards; then missing data are waited for.
    const bool goes_on = !run.may_accept || hopes(run, record);
    if (record.prepared->problem) return goes_on ? std::optional(preparing(" again")) : std::nullopt;
    if (run.may_accept) return std::nullopt;
    // Train to the first state whose root is not known: the next one, or one that was lost. States before the run's
    // start belong to a predecessor.
    std::uint64_t& known = record.known;
    for (known = std::max(known, run.first_state); known <= run.terms.schedule.segments(); ++known) {
        const std::uint64_t index = known;
        if (store_.commitment({key.first, key.second, index})) continue;
        return make_order<SolverResult>(
            "train task " + std::to_string(key.first) + " to checkpoint " + std::to_string(index),
            Reached{key.first, key.second, index, std::nullopt},
            [this, run, index, &suspended = record.suspended] { return SolverResult(reach(run, index, suspended)); });
    }
    return std::nullopt;
}

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
        for (const ReportView& report : run.reports)
            if (const auto failed = reports_.find(report.id); failed != reports_.end() && failed->second.retry)
                add(run, "answer report " + std::to_string(report.id), *failed->second.retry, report.deadline);
    }
}

void SolverAgent::clean_up(const SolverView& view) {
    std::set<RunKey> open;
    for (const RunView& run : view.runs) open.insert({run.terms.id, run.run});
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
            if (store_.forget(key.first, key.second)) over_since.reset();
        }
    }
    // Of a run that is over, the record holds only since when.
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
