// SPDX-License-Identifier: MIT
// What the solver's agent does for a run that is a member of a group: it commits to segments and to what it has of a
// round, fetches messages, and opens its states.
#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "solver/agent/agent.hpp"
#include "solver/agent/deadline_check.hpp"
#include "solver/commitments.hpp"

namespace retrace::solver {
namespace {

MessageKey key_of_holdings(const RunView& run) { return {run.terms.id, run.member->round, run.run}; }

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

Status<> check_terms(const CommittedPlan& plan, const GroupTerms& terms) {
    const auto differs = [](const char* what, std::uint64_t plan, std::uint64_t task) {
        return error("the plan has " + std::to_string(plan) + " " + what + ", and the task says " +
                     std::to_string(task) + ": the requester has to post it again");
    };
    if (plan.steps_max() != terms.steps_max) return differs("inner steps", plan.steps_max(), terms.steps_max);
    if (plan.has(kernels::Phase::mask) != (terms.mask_bits != 0))
        return error("the plan and the task do not both have masks: the requester has to post it again");
    if (plan.shared() != terms.shared) return differs("shared tensors", plan.shared(), terms.shared);
    if (plan.has(kernels::Phase::merge_begin) != (terms.regions != 0))
        return differs("phases that merge, or none,", plan.has(kernels::Phase::merge_begin) ? 4 : 0,
                       terms.regions != 0 ? 4 : 0);
    if (plan.public_tensors() == terms.public_tensors) return Unit{};
    return differs("public tensors, or others,", plan.public_tensors().size(), terms.public_tensors.size());
}

}  // namespace

void SolverAgent::update_clock(const RunView& run, std::uint64_t height) {
    RunRecord& record = record_of(run);
    if (record.clock == nullptr) record.clock = std::make_shared<RoundClock>();
    const bool training = run.member->phase == RoundPhase::training;
    record.clock->height = height;
    record.clock->deadline = training ? run.member->deadline : 0;
    record.clock->next_round = run.member->round + (training ? 0 : 1);
}

bool SolverAgent::is_away(const RunView& run) const {
    return config_.away && config_.away(run.terms.id, run.member->round);
}

// --- Moves.

void SolverAgent::play_member(const RunView& run, std::uint64_t height, Output& out) {
    const RunRecord& record = record_of(run);
    const bool has_data = record.prepared && !record.prepared->problem && !run.terms.data_roots.empty();
    if (run.member->may_commit_data && has_data && due("data", run.terms.id, run.run, 0, height))
        out.moves.emplace_back(CommitData{run.terms.id, run.run, run.terms.data_roots});
    if (run.next_state == 0 && run.may_commit) {
        const auto opening = opening_of(run, 0);
        if (opening && due("commit", run.terms.id, run.run, 0, height))
            out.moves.emplace_back(
                CommitCheckpoint{run.terms.id, run.run, 0,
                                 checkpoint_commitment(run.terms.id, run.run, 0, opening->salt, opening->root)});
    }
    if (!is_away(run)) {
        commit_round(run, height, out);
        state_holdings(run, height, out);
    }
    open_member(run, height, out);
    answer(run, height, out);
}

void SolverAgent::commit_round(const RunView& run, std::uint64_t height, Output& out) {
    if (!run.member->may_commit && !run.member->may_finish) return;
    const auto order = next_segment(*run.member, run.next_state, *run.terms.group, begun_of(run));
    const auto state = order ? store_.commitment({run.terms.id, run.run, order->index}) : std::nullopt;
    if (!state || is_undone(run, order->index, state->header.step >> kernels::kPlaceBits)) return;
    const auto span = span_of(*order, state->header.step, run.terms.group->steps_max);
    if (!span) return;
    CommitRound move{
        run.terms.id,
        run.run,
        order->index,
        static_cast<std::uint32_t>(span->base),
        span->steps,
        checkpoint_commitment(run.terms.id, run.run, order->index,
                              checkpoint_salt(config_.secret, run.terms.id, run.run, order->index), state->root),
        {},
        {}};
    if (span->masks != 0) move.masks = kernels::mask_table_root(order->masks);
    if (span->steps != 0) {
        if (state->tensor_roots.empty()) return;  // Its tensors are lost; missing_segment makes it again.
        for (const std::uint32_t t : run.terms.group->public_tensors) move.message.push_back(state->tensor_roots.at(t));
    }
    if (due("commit", run.terms.id, run.run, order->index, height)) out.moves.emplace_back(std::move(move));
}

void SolverAgent::state_holdings(const RunView& run, std::uint64_t height, Output& out) {
    const MemberView& member = *run.member;
    if ((!member.may_list && !member.may_reveal) || config_.messages == nullptr) return;
    const std::uint64_t task = run.terms.id;
    auto stated = config_.messages->holdings(key_of_holdings(run));
    if (member.may_list && (!stated || stated->extended != member.extended)) {
        const std::vector<SentMessage> missing = missing_messages(run);
        if (!missing.empty() && height + config_.commit_blocks < member.deadline) return;
        MessageStore::Holdings made{member.extended, Bytes((member.committed.size() + 7) / 8)};
        for (std::size_t i = 0; i < member.committed.size(); ++i) {
            const SentMessage& sent = member.committed[i];
            // What a member states of its own message does not count.
            if (sent.run == run.run || !has_message(run, sent)) continue;
            made.bitmap[i / 8] |= static_cast<std::uint8_t>(1u << i % 8);
        }
        // Saved before it is sent: what is revealed after a restart has to be what was committed to.
        if (const auto saved = config_.messages->save_holdings(key_of_holdings(run), made); !saved) {
            problems_.push_back("task " + std::to_string(task) + ": " + saved.error().message);
            return;
        }
        stated = std::move(made);
    }
    if (!stated) return;
    const Hash32 salt = holding_salt(config_.secret, task, run.run, member.round, stated->bitmap);
    const std::uint64_t turn = 2 * std::uint64_t{member.round} + (member.extended ? 1 : 0);
    if (member.may_list && due("list", task, run.run, turn, height))
        out.moves.emplace_back(CommitHoldings{task, run.run, member.round, salt, stated->bitmap});
    if (member.may_reveal && due("reveal list", task, run.run, turn, height))
        out.moves.emplace_back(RevealHoldings{task, run.run, member.round, salt, stated->bitmap});
}

void SolverAgent::open_member(const RunView& run, std::uint64_t height, Output& out) {
    const RunRecord& record = record_of(run);
    if (!record.prepared || !record.prepared->inner) return;
    std::set<std::uint64_t> asked(run.open_segments.begin(), run.open_segments.end());
    asked.insert(run.reveal_segments.begin(), run.reveal_segments.end());
    asked.insert(run.open_roots.begin(), run.open_roots.end());
    for (const std::uint64_t index : asked) {
        const auto state = store_.commitment({run.terms.id, run.run, index});
        const auto opening = opening_of(run, index);
        if (!opening || !state || state->tensor_roots.empty()) continue;
        OpenMember move{run.terms.id, run.run, *opening, state->header, {}, {}, *record.prepared->inner, {}};
        for (std::uint32_t t = 0; t < run.terms.group->shared; ++t) move.tensors.push_back(t);
        const auto trained = std::ranges::find_if(run.member->segments, [&](const OwnSegment& segment) {
            return segment.index + 1 == index && segment.span.steps != 0;
        });
        if (trained != run.member->segments.end() && trained->span.masks != 0)
            move.masked = static_cast<std::uint32_t>(trained->span.base);
        if (trained != run.member->segments.end())
            move.tensors.insert(move.tensors.end(), run.terms.group->public_tensors.begin(),
                                run.terms.group->public_tensors.end());
        std::vector<std::uint64_t> places(move.tensors.begin(), move.tensors.end());
        for (const std::uint32_t t : move.tensors) move.leaves.push_back(state->tensor_roots.at(t));
        move.proof = state->tree().prove(places);
        if (due("open", run.terms.id, run.run, index, height)) out.moves.emplace_back(std::move(move));
    }
}

// --- Choice of work.

bool SolverAgent::is_undone(const RunView& run, std::uint64_t index, std::uint64_t base) const {
    // Inner steps of a round that a rollback has left intact began after it; so did what this process made since.
    const MemberView& member = *run.member;
    return member.attempt != 0 && base < member.intact && runs_.at(key_of(run)).made != Made{index, member.attempt};
}

Begun SolverAgent::begun_of(const RunView& run) const {
    Begun out;
    const auto state = store_.commitment({run.terms.id, run.run, run.next_state});
    if (state && !is_undone(run, run.next_state, state->header.step >> kernels::kPlaceBits))
        out.made = state->header.step;
    const std::uint64_t inner_base = runs_.at(key_of(run)).clock->inner_base;
    if (inner_base != RoundClock::kNone && (run.member->attempt == 0 || inner_base >= run.member->intact))
        out.inner_base = inner_base;
    return out;
}

std::optional<SegmentOrder> SolverAgent::missing_segment(const RunView& run) const {
    const MemberView& member = *run.member;
    auto order = next_segment(member, run.next_state, *run.terms.group, begun_of(run));
    if (!order || is_away(run)) return std::nullopt;
    const auto state = store_.commitment({run.terms.id, run.run, order->index});
    const bool made = state && span_of(*order, state->header.step, run.terms.group->steps_max) &&
                      !is_undone(run, order->index, state->header.step >> kernels::kPlaceBits) &&
                      !state->tensor_roots.empty();
    return made ? std::nullopt : std::move(order);
}

bool SolverAgent::has_message(const RunView& run, const SentMessage& sent) const {
    return sent.wanted && config_.messages->has(message_key(run.terms.id, run.member->round, sent), sent.tensors);
}

std::vector<SentMessage> SolverAgent::missing_messages(const RunView& run) const {
    std::vector<SentMessage> out;
    const std::vector<SentMessage>& sent = run.member->committed;
    // A message that is recorded only if that of another merger is not is fetched when that has not come for long.
    const auto comes_first = [&](std::uint32_t author) {
        if (run.member->phase != RoundPhase::spreading) return true;  // It may still come.
        const auto first = std::ranges::find(sent, author, &SentMessage::run);
        if (first == sent.end()) return false;
        return author == run.run || has_message(run, *first) ||
               height_ + 2 * config_.commit_blocks < run.member->deadline;
    };
    for (const SentMessage& message : sent)
        if (message.run != run.run && message.wanted && !has_message(run, message) &&
            !(message.before && comes_first(*message.before)))
            out.push_back(message);
    // Each member begins with the next one's: if all asked the same author first, its link would be everybody's.
    std::rotate(out.begin(), std::ranges::find_if(out, [&](const SentMessage& sent) { return sent.run > run.run; }),
                out.end());
    return out;
}

std::optional<SolverWork> SolverAgent::work_of_member(const RunView& run) {
    const RunKey key = key_of(run);
    const MemberView& member = *run.member;
    RunRecord& record = record_of(run);
    const std::string task = "task " + std::to_string(key.first);
    const bool enters = run.next_state == 0 && run.may_commit && !store_.commitment({key.first, key.second, 0});
    auto order = enters ? std::nullopt : missing_segment(run);
    if (enters || order) {
        const std::uint64_t index = order ? order->index : 0;
        const std::string what = order ? "train " + task + " in round " + std::to_string(order->span.base)
                                       : "make the first state of " + task;
        return make_order<SolverResult>(
            what, Reached{key.first, key.second, index, std::nullopt},
            [this, run, order = std::move(order), clock = record.clock, &record] {
                return SolverResult(reach_member(run, order, *clock, record));
            },
            member.deadline, key);
    }
    // Messages are fetched as they come, once this member has sent its own.
    const bool fetches =
        member.phase == RoundPhase::spreading || (member.phase == RoundPhase::training && !member.may_commit);
    if (!fetches || is_away(run)) return std::nullopt;
    if (record.gathering && height_ < record.gathering->next(1, member.deadline)) return std::nullopt;
    const std::vector<SentMessage> missing = missing_messages(run);
    if (missing.empty()) return std::nullopt;
    return make_order<SolverResult>(
        "fetch messages of round " + std::to_string(member.round) + " of " + task,
        Gathered{key.first, key.second, member.round, std::nullopt},
        [this, run, missing] { return SolverResult(gather(run, missing)); }, member.deadline, key);
}

// --- Worker thread.

Prepared SolverAgent::prepare_member(const RunView& run) {
    Prepared out;
    out.task = run.terms.id;
    out.run = run.run;
    if (config_.messages == nullptr) {
        out.problem = "this solver has no store of messages";
        return out;
    }
    if (run.terms.group->private_sets != 0 && run.terms.data_roots.empty()) {
        out.problem =
            "it has no data that the programs of this task may read; name the task or its requester with --data-for";
        return out;
    }
    const auto material = task_cache_.group(run.terms);
    if (!material) {
        out.problem = material.error().message;
        out.transient = material.error().kind.has_value();
        out.preempted = slot_.preemption().requested();
        return out;
    }
    const CommittedPlan& plan = *(*material)->plan;
    Status<> fits = check_terms(plan, *run.terms.group);
    if (fits && run.may_accept) {
        RunView segment = run;
        segment.terms.schedule = {plan.steps_max(), plan.steps_max()};
        const bool seeded = plan.has(kernels::Phase::init);
        fits = check_pace(segment, plan.states(), seeded ? &plan.program(kernels::Phase::init).program() : nullptr,
                          (*material)->runner->on_device());
    }
    if (!fits) out.problem = fits.error().message;
    out.inner = plan.program(kernels::Phase::inner).header();
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
    Member member(task_cache_, **material, store_, *config_.messages, run.run);
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
        const auto more = [&](std::uint32_t done) {
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
        const auto watch = [&] {
            preemption.begin_step();
            // The grace may have ended the training early; the deadline is that of the next phase then.
            const bool ended = is_too_late(order->span.base, clock.next_round, *run.terms.group);
            if (order->span.steps != 0 && ended) return OrderState::too_late;
            return preemption.requested() ? OrderState::interrupted : OrderState::going_on;
        };
        made = member.make(*order, more, watch, preemption.step_stop(), record.suspended);
        clock.inner_base = inner_base_of(*order, record.suspended).value_or(RoundClock::kNone);
    } else {
        made = member.enter(entry_of(*run.member), preemption.step_stop());
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
    Member member(task_cache_, **material, store_, *config_.messages, run.run);
    const auto fetched = member.fetch(run.member->round, messages, [&] {
        out.preempted = slot_.preemption().requested();
        return !out.preempted;
    });
    if (!fetched) out.problem = fetched.error().message;
    return out;
}

Answered SolverAgent::answer_as_member(const RunView& run, const ReportView& report) {
    Answered answered{report.id, {}, ""};
    const auto material = task_cache_.group(run.terms);
    if (!material) {
        answered.problem = material.error().message;
        answered.preempted = slot_.preemption().requested();
        return answered;
    }
    const CommittedPlan& plan = *(*material)->plan;
    const kernels::CommittedProgram& inner = plan.program(kernels::Phase::inner);
    switch (report.kind) {
        case ReportKind::kept: answered.problem = "this solver keeps no state for others"; break;
        case ReportKind::state:
        case ReportKind::model: {
            // The model of a member is its last state.
            const std::uint64_t index = report.kind == ReportKind::model ? run.next_state - 1 : report.index;
            const auto made = task_cache_.answers().state_tile(store_, {run.terms.id, run.run, index}, inner.header(),
                                                               report.tensor, report.tile, task_cache_.pool());
            if (made)
                answered.answer = encode(*made);
            else
                answered.problem = made.error().message;
            break;
        }
        case ReportKind::data:
            // Nobody reports data of a private group (contracts 21.13.9), and no tile of them leaves this machine.
            if (run.terms.group->private_sets != 0 || report.index >= (*material)->data.size()) {
                answered.problem = "no such data set";
                return answered;
            }
            answered.answer = encode(task_cache_.answers().data_tile(
                (*material)->data[report.index], run.terms.data_roots[report.index], report.tile, task_cache_.pool()));
            break;
        case ReportKind::program: answered.answer = encode(answer_program(inner, report.tensor, report.tile)); break;
        case ReportKind::message: {
            const RecordView::Entry* const entry = find_message(*run.member, report.index);
            if (entry == nullptr || entry->tensors.empty()) {
                answered.problem = "no such message";
                break;
            }
            const std::size_t place = report.tensor < entry->tensors.size() ? report.tensor : 0;
            const auto& record = plan.states().tensors[plan.public_tensors().at(place)];
            Member member(task_cache_, **material, store_, *config_.messages, run.run);
            const auto round = static_cast<std::uint32_t>(report.index / kRunsOfReport);
            const MessageKey key = message_key(run.terms.id, round, *entry);
            const auto here = member.fetch(key, entry->tensors);
            const auto tensor =
                here ? config_.messages->tensor_of(key, static_cast<std::uint32_t>(place), record, task_cache_.pool())
                     : Result<kernels::Tensor>(error(here.error().message));
            if (tensor)
                answered.answer = encode(answer_tensor_tile(*tensor, report.tile, task_cache_.pool()));
            else
                answered.problem = tensor.error().message;
            break;
        }
    }
    return answered;
}

}  // namespace retrace::solver
