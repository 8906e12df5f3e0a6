// SPDX-License-Identifier: MIT
// What the solver's agent does on the worker thread for a run that is a member of a group.
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "kernels/builder/mask_programs.hpp"
#include "kernels/program/limits.hpp"
#include "solver/agent/agent.hpp"
#include "solver/agent/deadline_check.hpp"
#include "solver/artifacts/packed_tensor.hpp"

namespace retrace::solver {
namespace {

/// The roots of the message that a report names, if the records of the member's view have it.
const RecordView::Entry* find_message(const MemberView& member, std::uint64_t index) {
    for (const std::vector<RecordView>* const records : {&member.records, &member.undone})
        for (const RecordView& record : *records) {
            if (record.round != index / kRunsOfReport) continue;
            for (const RecordView::Entry& entry : record.entries)
                if (entry.run == index % kRunsOfReport) return &entry;
        }
    return nullptr;
}

constexpr const char* kNoData =
    "it has no data that the programs of this task may read; name its requester with --data-for";

/// Most bytes that the messages of a group take on the disk of a member, with those of the open round.
std::uint64_t message_disk(const CommittedPlan& plan, const GroupTerms& terms) {
    std::uint64_t message = 0;
    for (const std::uint32_t number : plan.public_tensors())
        message = kernels::saturating_add(message, transport_bytes_max(plan.states().tensors[number]));
    const std::uint64_t rounds = std::uint64_t{terms.keep_rounds} + terms.max_age + 1;
    return kernels::saturating_mul(message, rounds * terms.members);
}

/// What `mask` and `unmask` do is what hides a message, and what takes the masks out of a sum.
Status<> check_masks(const CommittedPlan& plan, const GroupTerms& terms) {
    RETRACE_TRY(expected, kernels::build_mask_programs(plan.states(), terms.mask_bits));
    using kernels::CommittedProgram, kernels::Phase;
    const std::vector<std::uint32_t>& sent = plan.public_tensors();
    const bool one = sent.size() == 1 && plan.states().tensors[sent[0]].name == kernels::kMaskedMessageName;
    const bool same = one && plan.program(Phase::mask).root() == CommittedProgram(std::move(expected.mask)).root() &&
                      plan.program(Phase::unmask).root() == CommittedProgram(std::move(expected.unmask)).root();
    if (same) return Unit{};
    return error("the plan's programs of masks are not those of " + std::to_string(terms.mask_bits) +
                 " bits, so that messages may be seen: post the plan that `task compile --masked` makes");
}

Status<> check_terms(const CommittedPlan& plan, const GroupTerms& terms) {
    const auto differs = [](const char* what, std::uint64_t plan, std::uint64_t task) {
        return error("the plan has " + std::to_string(plan) + " " + what + ", and the task says " +
                     std::to_string(task) + ": the requester has to post it again");
    };
    if (plan.steps_max() != terms.steps_max) return differs("inner steps", plan.steps_max(), terms.steps_max);
    if (plan.has(kernels::Phase::mask) != (terms.mask_bits != 0))
        return error("the plan and the task do not both have masks: the requester has to post it again");
    if (terms.mask_bits != 0) RETRACE_CHECK(check_masks(plan, terms));
    if (plan.shared() != terms.shared) return differs("shared tensors", plan.shared(), terms.shared);
    if (plan.has(kernels::Phase::merge_begin) != (terms.regions != 0))
        return differs("phases that merge, or none,", plan.has(kernels::Phase::merge_begin) ? 4 : 0,
                       terms.regions != 0 ? 4 : 0);
    if (plan.public_tensors() == terms.public_tensors) return Unit{};
    return differs("public tensors, or others,", plan.public_tensors().size(), terms.public_tensors.size());
}

}  // namespace

Result<std::uint64_t> SolverAgent::check_plan(const RunView& run, GroupMaterial& material,
                                              std::uint64_t promised) const {
    const CommittedPlan& plan = *material.plan;
    RunView segment = run;
    segment.terms.schedule = {plan.steps_max(), plan.steps_max()};
    const bool seeded = plan.has(kernels::Phase::init);
    RETRACE_CHECK(check_pace(segment, plan.states(), seeded ? &plan.program(kernels::Phase::init).program() : nullptr,
                             material.runner->on_device()));
    const std::uint64_t disk = message_disk(plan, *run.terms.group);
    if (config_.room) RETRACE_CHECK(config_.room(kernels::saturating_add(promised, disk)));
    return disk;
}

Prepared SolverAgent::prepare_member(const RunView& run, std::uint64_t promised) {
    Prepared out;
    out.task = run.terms.id;
    out.run = run.run;
    if (config_.messages == nullptr) {
        out.problem = "this solver has no store of messages";
        return out;
    }
    const auto fail = [&](const Unavailable& why) {
        out.problem = why.message;
        out.transient = why.kind.has_value();
        out.preempted = slot_.preemption().requested();
        return out;
    };
    // The plan first: a member without its data still opens what it has committed to.
    const auto plan = task_cache_.plan(run.terms);
    if (!plan) return fail(plan.error());
    out.inner = (*plan)->program(kernels::Phase::inner).header();
    // One that runs without still opens and serves what it has committed to.
    if (run.terms.group->private_sets != 0 && run.terms.data_roots.empty() && run.may_accept) {
        out.problem = kNoData;
        return out;
    }
    const auto material = task_cache_.group(run.terms);
    if (!material) return fail(material.error());
    const Status<> fits = check_terms(**plan, *run.terms.group);
    if (!fits) {
        out.problem = fits.error().message;
    } else if (run.may_accept) {
        const auto checked = check_plan(run, **material, promised);
        if (!checked) out.problem = checked.error().message;
    }
    out.disk = message_disk(**plan, *run.terms.group);
    return out;
}

Reached SolverAgent::reach_member(const RunView& run, const std::optional<SegmentOrder>& order, RoundClock& clock,
                                  RunRecord& record) {
    Reached reached{run.terms.id, run.run, order ? order->index : 0, std::nullopt};
    // A failure after a preemption request is not a problem: the fetch was interrupted.
    const auto fail = [&](const std::string& problem) {
        reached.preempted = slot_.preemption().requested();
        if (!reached.preempted) reached.problem = problem;
        return reached;
    };
    const auto material = task_cache_.group(run.terms);
    if (!material) return fail(material.error().message);
    Member member(task_cache_, **material, stores(), run.run, *run.member);
    Preemption& preemption = slot_.preemption();
    preemption.begin_step();
    Result<bool> made = false;
    if (order) {
        // Positions of records that a rollback has changed are not those that a stopped segment has taken in.
        const std::uint8_t attempt = run.member->attempt;
        if (std::exchange(record.attempt, attempt) != attempt) {
            record.suspended.reset();
            clock.inner_base = RoundClock::kNone;
        }
        // A state that the next segment cannot end in was not committed to in time, and no longer can be.
        if (const auto withdrawn = member.withdraw(order->index, order->span.base, attempt != 0); !withdrawn)
            return fail(withdrawn.error().message);
        const std::uint64_t began = clock.height;
        bool resumed = record.paced && record.paced->index == order->index;
        const auto keep_pace = [&](std::uint32_t done) {
            const auto now = std::chrono::steady_clock::now();
            if (!record.paced || record.paced->index != order->index) record.paced = PacedSteps{order->index, now, now};
            if (std::exchange(resumed, false)) record.paced->began += now - record.paced->left;
            const auto due = record.paced->began + std::chrono::duration<double>(done / config_.pace);
            while (std::chrono::steady_clock::now() < due && !preemption.requested())
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
            record.paced->left = std::chrono::steady_clock::now();
        };
        bool stopped = false;
        const auto wants_more = [&](std::uint32_t done) {
            if (config_.pace > 0) keep_pace(done);
            if (config_.member_steps != 0) return done < config_.member_steps;
            // With fewer than half of the steps it trains on if a later round takes them. With more it sends them in time:
            // the next ones begin when that round is closed, so to train on would bring fewer in all.
            const bool last = is_too_late(order->span.base, clock.next_round + 1, *run.terms.group);
            if (!last && 2 * std::uint64_t{done} < order->span.steps) return true;
            const std::uint64_t height = clock.height, deadline = clock.deadline;
            const std::uint64_t step = (height - began + done - 1) / done;  // Blocks of a step so far, rounded up.
            return deadline == 0 || height + step + config_.commit_blocks < deadline;
        };
        const auto more = [&](std::uint32_t done) {
            stopped = !wants_more(done);
            return !stopped;
        };
        const auto watch = [&] {
            preemption.begin_step();
            // The grace may have ended the training early; the deadline is that of the next phase then.
            const bool ended = is_too_late(order->span.base, clock.next_round, *run.terms.group);
            if (order->span.steps != 0 && ended) return OrderState::too_late;
            return preemption.requested() ? OrderState::interrupted : OrderState::going_on;
        };
        made = member.make(*order, more, watch, preemption.step_stop(), record.suspended);
        clock.inner_base = inner_base_of(*order, record.suspended).value_or(RoundClock::kNone);
        const bool trained = made && !*made && (stopped || has_all_steps(*order, record.suspended));
        clock.awaits_masks = order->awaits_masks && trained ? clock.inner_base.load() : RoundClock::kNone;
    } else {
        made = member.enter(preemption.step_stop());
    }
    if (!made) return fail(made.error().message);
    reached.preempted = !*made;
    if (reached.preempted) return reached;
    reached.attempt = run.member->attempt;
    for (std::uint64_t old = 0; old < run.keep_from && old <= reached.index; ++old) {
        if (store_.commitment({run.terms.id, run.run, old})) (void)store_.retain({run.terms.id, run.run, old}, false);
    }
    // A crash may have come between the saving of a state and its retention.
    for (std::uint64_t kept = run.keep_from; kept <= reached.index; ++kept)
        if (store_.commitment({run.terms.id, run.run, kept}))
            if (const auto retained = store_.retain({run.terms.id, run.run, kept}, true); !retained)
                return fail(retained.error().message);
    // If this fails, the rest is dropped the next time.
    (void)store_.prune(run.terms.id, run.run, config_.keep_checkpoints);
    const std::uint32_t kept = std::min(run.member->round, run.terms.group->keep_rounds);
    std::uint64_t from = std::min<std::uint64_t>(run.member->round - kept, run.member->base);
    for (const OwnSegment& segment : run.member->segments) from = std::min(from, segment.span.from);
    from -= std::min<std::uint64_t>(from, run.terms.group->max_age);  // Messages of a record may be so much older.
    config_.messages->keep_from(run.terms.id, static_cast<std::uint32_t>(from));
    return reached;
}

Gathered SolverAgent::gather(const RunView& run, const std::vector<SentMessage>& messages) {
    Gathered out{run.terms.id, run.run, run.member->round, std::nullopt};
    const auto material = task_cache_.group(run.terms);
    if (!material) {
        out.problem = material.error().message;
        out.preempted = slot_.preemption().requested();
        return out;
    }
    Member member(task_cache_, **material, stores(), run.run, *run.member);
    const auto fetched = member.fetch(run.member->round, messages, [&] {
        out.preempted = slot_.preemption().requested();
        return !out.preempted;
    });
    if (!fetched) out.problem = fetched.error().message;
    return out;
}

Reached SolverAgent::make_again(const RunView& run, std::uint64_t index) {
    Reached out{run.terms.id, run.run, index, std::nullopt, false, true};
    const auto material = task_cache_.group(run.terms);
    Preemption& preemption = slot_.preemption();
    preemption.begin_step();
    Result<bool> made =
        material
            ? Member(task_cache_, **material, stores(), run.run, *run.member).make_again(index, preemption.step_stop())
            : Result<bool>(error(material.error().message));
    // A failure after a preemption request is not a problem: the fetch was interrupted.
    out.preempted = made ? !*made : preemption.requested();
    if (!made && !out.preempted) out.problem = made.error().message;
    return out;
}

Result<kernels::State> SolverAgent::state_of_member(const TaskTerms& terms, std::uint32_t run, std::uint64_t index) {
    const CheckpointKey key{terms.id, run, index};
    auto loaded = store_.load(key, task_cache_.pool());
    if (loaded || config_.messages == nullptr) return loaded;
    std::shared_ptr<const MemberView> view;
    {
        const std::lock_guard lock(member_views_mutex_);
        const auto found = member_views_.find({terms.id, run});
        if (found != member_views_.end()) view = found->second;
    }
    if (view == nullptr) return loaded;
    const auto material = task_cache_.group(terms);
    if (!material) return error(material.error().message);
    RETRACE_CHECK(Member(task_cache_, **material, stores(), run, *view).make_again(index, {}));
    return store_.load(key, task_cache_.pool());
}

Result<TileAnswer> SolverAgent::member_state_tile(const RunView& run, std::uint64_t index, const ReportView& report,
                                                  const kernels::ProgramHeader& inner) {
    const auto from_store = [&] {
        return task_cache_.answers().state_tile(store_, {run.terms.id, run.run, index}, inner, report.tensor,
                                                report.tile, task_cache_.pool());
    };
    if (auto made = from_store()) return made;
    RETRACE_CHECK(state_of_member(run.terms, run.run, index));
    return from_store();
}

Result<TileAnswer> SolverAgent::message_tile(const RunView& run, const ReportView& report, const CommittedPlan& plan) {
    const RecordView::Entry* const entry = find_message(*run.member, report.index);
    if (entry == nullptr || entry->tensors.empty()) return error("no such message");
    const std::size_t place = report.tensor < entry->tensors.size() ? report.tensor : 0;
    const auto& record = plan.states().tensors[plan.public_tensors().at(place)];
    const auto round = static_cast<std::uint32_t>(report.index / kRunsOfReport);
    const MessageKey key = message_key(run.terms.id, round, *entry);
    const auto from_store = [&] {
        return config_.messages->tensor_of(key, static_cast<std::uint32_t>(place), record, task_cache_.pool());
    };
    auto tensor = from_store();
    if (!tensor) {
        const auto fetched = task_cache_.fetch_message(plan, {entry->tensors, run.terms.id, entry->run});
        if (!fetched) return error(fetched.error().message);
        RETRACE_CHECK(config_.messages->save(key, entry->tensors, *fetched));
        tensor = from_store();
    }
    if (!tensor) return error(tensor.error().message);
    return answer_tensor_tile(*tensor, report.tile, task_cache_.pool());
}

Answered SolverAgent::answer_as_member(const RunView& run, const ReportView& report) {
    Answered answered{report.id, {}, ""};
    const auto answer = [&]() -> Result<Bytes, Unavailable> {
        const auto refuse = [](std::string why) { return Unexpected{Unavailable{std::move(why), std::nullopt}}; };
        const auto or_why = [&](const Result<TileAnswer>& made) -> Result<Bytes, Unavailable> {
            if (!made) return refuse(made.error().message);
            return encode(*made);
        };
        if (report.kind == ReportKind::kept) return refuse("this solver keeps no state for others");
        if (report.kind == ReportKind::state || report.kind == ReportKind::model) {
            // The model of a member is its last state.
            const std::uint64_t index = report.kind == ReportKind::model ? run.next_state - 1 : report.index;
            if (const auto inner = config_.messages->header(run.terms.id))
                return or_why(member_state_tile(run, index, report, *inner));
            RETRACE_TRY(plan, task_cache_.plan(run.terms));
            return or_why(member_state_tile(run, index, report, plan->program(kernels::Phase::inner).header()));
        }
        RETRACE_TRY(plan, task_cache_.plan(run.terms));
        if (report.kind == ReportKind::program)
            return encode(answer_program(plan->program(kernels::Phase::inner), report.tensor, report.tile));
        if (report.kind == ReportKind::message) return or_why(message_tile(run, report, *plan));
        // Nobody reports data of a private group (contracts 21.13.9), and no tile of them leaves this machine.
        if (run.terms.group->private_sets != 0 || report.index >= run.terms.data_roots.size())
            return refuse("no such data set");
        RETRACE_TRY(material, task_cache_.group(run.terms));
        return encode(task_cache_.answers().data_tile(
            material->data.at(report.index), run.terms.data_roots[report.index], report.tile, task_cache_.pool()));
    };
    if (config_.messages == nullptr) {
        answered.problem = "this solver has no store of messages";
        return answered;
    }
    const auto made = answer();
    if (made) {
        answered.answer = *made;
    } else {
        answered.problem = made.error().message;
        answered.preempted = slot_.preemption().requested();
    }
    return answered;
}

}  // namespace retrace::solver
