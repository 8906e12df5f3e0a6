// SPDX-License-Identifier: MIT
// What the solver's agent does for a run that is a member of a group: it commits to segments and to what it has of a
// round, fetches messages, and opens its states.
#include <algorithm>
#include <set>
#include <utility>

#include "solver/agent/agent.hpp"
#include "solver/commitments.hpp"

namespace retrace::solver {
namespace {

MessageKey key_of_holdings(const RunView& run) { return {run.terms.id, run.member->round, run.run}; }

/// The states that openMember is asked for.
std::set<std::uint64_t> asked_states(const RunView& run) {
    std::set<std::uint64_t> out(run.open_segments.begin(), run.open_segments.end());
    out.insert(run.reveal_segments.begin(), run.reveal_segments.end());
    out.insert(run.open_roots.begin(), run.open_roots.end());
    // Contracts 21.13.33: others are refused until the first state is open.
    if (run.terms.group->private_sets != 0 && out.contains(0)) return {0};
    return out;
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
    if (record.prepared && record.prepared->inner && config_.messages != nullptr) {
        const auto saved = config_.messages->save_header(run.terms.id, *record.prepared->inner);
        if (!saved && due("save header", run.terms.id, 0, 0, height)) problems_.push_back(saved.error().message);
    }
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
    // After a restart it is on disk, so that a state is opened before plan and data are here again.
    const RunRecord& record = record_of(run);
    auto inner = record.prepared ? record.prepared->inner : std::nullopt;
    if (!inner && config_.messages != nullptr) inner = config_.messages->header(run.terms.id);
    if (!inner) return;
    for (const std::uint64_t index : asked_states(run)) {
        const auto state = store_.commitment({run.terms.id, run.run, index});
        const auto opening = opening_of(run, index);
        if (!opening || !state || state->tensor_roots.empty()) continue;
        OpenMember move{run.terms.id, run.run, *opening, state->header, {}, {}, *inner, {}};
        for (std::uint32_t t = 0; t < run.terms.group->shared; ++t) move.tensors.push_back(t);
        const auto trained = std::ranges::find_if(run.member->segments, [&](const OwnSegment& segment) {
            return segment.index + 1 == index && segment.span.steps != 0;
        });
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

std::optional<std::uint64_t> SolverAgent::lost_state(const RunView& run) const {
    for (const std::uint64_t index : asked_states(run)) {
        const auto state = store_.commitment({run.terms.id, run.run, index});
        if (index < run.next_state && (!state || state->tensor_roots.empty())) return index;
    }
    return std::nullopt;
}

std::uint64_t SolverAgent::promised_disk(const RunKey& but) const {
    std::uint64_t out = 0;
    for (const auto& [key, record] : runs_)
        if (key != but && record.prepared) out += record.prepared->disk;
    return out;
}

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
    const bool may_restore = !record.restoring || height_ >= record.restoring->next(config_.resend_blocks, 0);
    if (const auto lost = may_restore ? lost_state(run) : std::nullopt)
        return make_order<SolverResult>(
            "make state " + std::to_string(*lost) + " of " + task + " again",
            Reached{key.first, key.second, *lost, std::nullopt, false, true},
            [this, run, index = *lost] { return SolverResult(make_again(run, index)); }, 0, key);
    const auto awaits_masks = [&](const SegmentOrder& order) {
        return order.awaits_masks && record.clock->awaits_masks == order.span.base;
    };
    const bool enters = run.next_state == 0 && run.may_commit && !store_.commitment({key.first, key.second, 0});
    auto order = enters ? std::nullopt : missing_segment(run);
    if (order && awaits_masks(*order)) order.reset();
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

}  // namespace retrace::solver
