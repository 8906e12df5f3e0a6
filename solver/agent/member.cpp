// SPDX-License-Identifier: MIT
#include "solver/agent/member.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace retrace::solver {
namespace {

using kernels::SegmentPositions;
using kernels::SegmentSpan;
using kernels::State;

std::uint64_t base_of(std::uint64_t header_step) { return header_step >> kernels::kPlaceBits; }
std::uint64_t place_of_header(std::uint64_t header_step) { return header_step & kernels::kPositionsMax; }

Result<SegmentPositions> positions_of(const SegmentOrder& order, std::uint32_t steps, std::uint32_t steps_max) {
    SegmentSpan span = order.span;
    span.steps = steps;
    if (steps == 0) span.masks = 0;
    return SegmentView{span, 0, order.records}.positions(steps_max);
}

/// The number of positions before the inner steps of the order, or before those that merge.
std::optional<std::uint64_t> recorded_of(const SegmentOrder& order) {
    const auto positions = positions_of(order, std::min<std::uint32_t>(order.span.steps, 1), 1);
    return positions ? std::optional(positions->recorded()) : std::nullopt;
}

/// The number of positions in which `order` takes in the records below `base`; nullopt: it does not begin below.
std::optional<std::uint64_t> positions_up_to(const SegmentOrder& order, std::uint64_t base) {
    if (base < order.span.from || base > order.span.base) return std::nullopt;
    SegmentSpan span{order.span.from, base, 0, order.span.omitted, 0, order.span.regional};
    if (span.omitted && *span.omitted >= base) span.omitted.reset();
    const std::vector<RecordView> records(order.records.begin(),
                                          order.records.begin() + static_cast<std::ptrdiff_t>(base - span.from));
    const auto positions = SegmentView{span, 0, records}.positions(1);
    return positions ? std::optional(positions->count()) : std::nullopt;
}

/// The records from `from` to base - 1, which `all` has.
std::vector<RecordView> records_between(const std::vector<RecordView>& all, std::uint64_t from, std::uint64_t base) {
    std::vector<RecordView> out;
    for (const RecordView& record : all)
        if (record.round >= from && record.round < base) out.push_back(record);
    return out;
}

/// The member's segment with this base and at most so many inner steps; nullopt: the view lacks records of it, or it has
/// no positions.
std::optional<SegmentOrder> order_at(const MemberView& member, std::uint64_t next_state, const GroupTerms& terms,
                                     std::uint64_t base, std::uint32_t steps) {
    SegmentOrder out;
    out.index = next_state;
    out.start = member.start.value_or(next_state - 1);
    // Below it, if rounds closed empty since its inner steps began.
    std::uint64_t from = std::min<std::uint64_t>(member.base, base);
    if (terms.regions != 0 && base % 2 == 1) {
        steps = member.merges && steps != 0 ? 1 : 0;
        if (steps != 0) from = std::min(from, base - 1);  // That is the record whose messages it merges.
    }
    if (terms.private_sets != 0 && from < base) steps = 0;  // Contracts 21.13.4: it takes in records, or trains.
    out.records = records_between(member.records, from, base);
    if (out.records.size() != base - from) return std::nullopt;
    out.span = {from, base, steps, std::nullopt, 0, terms.regions != 0};
    if (member.omitted && *member.omitted < base) out.span.omitted = member.omitted;
    if (steps != 0 && terms.mask_bits != 0) {
        out.masks = member.masks;
        out.span.masks = static_cast<std::uint32_t>(out.masks.size());
        out.awaits_masks = out.masks.empty();
        // Nobody sends a message without its masks; before they are known, its inner steps are made.
        if (out.awaits_masks && !member.may_begin) return std::nullopt;
    }
    const auto positions = positions_of(out, steps, terms.steps_max);
    if (!positions || positions->count() == 0) return std::nullopt;
    return out;
}

}  // namespace

std::optional<SegmentOrder> next_segment(const MemberView& member, std::uint64_t next_state, const GroupTerms& terms,
                                         const Begun& begun) {
    const auto goes_on = [&](std::optional<std::uint64_t> base) {
        const std::uint32_t next_round = member.round + (member.may_commit ? 0 : 1);
        return base && (member.may_commit || member.may_go_on) && !is_too_late(*base, next_round, terms);
    };
    const auto made_base = begun.made ? std::optional(base_of(*begun.made)) : std::nullopt;
    if (goes_on(made_base)) {
        auto order = order_at(member, next_state, terms, *made_base, terms.steps_max);
        if (order && span_of(*order, *begun.made, terms.steps_max)) return order;
    }
    if (goes_on(begun.inner_base)) return order_at(member, next_state, terms, *begun.inner_base, terms.steps_max);
    if (!member.may_commit && !member.may_begin && !member.may_finish) return std::nullopt;
    // The highest base within the limits of a segment.
    std::uint64_t base = member.base, messages = 0;
    for (const RecordView& record : records_between(member.records, member.base, member.round)) {
        messages += record.entries.size() + record.masks.size();
        if (messages > terms.catch_up_max || base - member.base == terms.keep_rounds) break;
        ++base;
    }
    const bool trains = base == member.round && (member.may_commit || member.may_begin);
    return order_at(member, next_state, terms, base, trains ? terms.steps_max : 0);
}

bool is_too_late(std::uint64_t base, std::uint32_t next_round, const GroupTerms& terms) {
    return next_round < base || next_round - base > terms.max_age || next_round >= terms.rounds;
}

std::optional<std::uint64_t> inner_base_of(const SegmentOrder& order, const std::optional<State>& suspended) {
    if (!suspended || suspended->tensors.empty() || base_of(suspended->step) != order.span.base) return std::nullopt;
    const auto recorded = recorded_of(order);
    if (!recorded || place_of_header(suspended->step) <= *recorded) return std::nullopt;
    return order.span.base;
}

bool has_all_steps(const SegmentOrder& order, const std::optional<State>& suspended) {
    const auto recorded = inner_base_of(order, suspended) ? recorded_of(order) : std::nullopt;
    return recorded && place_of_header(suspended->step) >= *recorded + order.span.steps;
}

std::optional<SegmentSpan> span_of(const SegmentOrder& order, std::uint64_t header_step, std::uint32_t steps_max) {
    if (base_of(header_step) != order.span.base) return std::nullopt;
    const auto recorded = recorded_of(order);
    const std::uint64_t places = place_of_header(header_step);
    SegmentSpan span = order.span;
    if (kernels::merges(span)) {
        const auto all = positions_of(order, span.steps, steps_max);
        return all && places == all->count() ? std::optional(span) : std::nullopt;
    }
    // Inner steps are followed by `press` and the masks: places before are the middle of a segment.
    const std::uint64_t after = std::uint64_t{1} + order.span.masks;
    if (!recorded || places < *recorded || (places != *recorded && places <= *recorded + after)) return std::nullopt;
    span.steps = places == *recorded ? 0 : static_cast<std::uint32_t>(places - *recorded - after);
    if (span.steps == 0) span.masks = 0;
    if (span.steps > order.span.steps || (span.steps == 0) != (order.span.steps == 0)) return std::nullopt;
    return span;
}

Result<std::vector<kernels::Tensor>, Unavailable> fetch_anchor(TaskCache& task_cache, const GroupMaterial& material,
                                                               MessageStore& messages, const EntryView& entry) {
    const MessageKey key{material.terms.id, entry.base, kAnchorRun};
    if (messages.has(key, entry.anchor)) {
        std::vector<kernels::Tensor> out;
        for (std::uint32_t i = 0; i < entry.anchor.size() && i < material.plan->shared(); ++i) {
            auto here = messages.tensor_of(key, i, material.plan->states().tensors[i], task_cache.pool());
            if (!here) break;  // Damaged: it is fetched again.
            out.push_back(std::move(here).value());
        }
        if (out.size() == entry.anchor.size()) return out;
    }
    RETRACE_TRY(fetched, task_cache.fetch_shared(material, entry.anchor));
    if (const auto saved = messages.save(key, entry.anchor, fetched); !saved)
        return Unexpected{Unavailable{saved.error().message, std::nullopt}};
    return fetched;
}

Member::Member(TaskCache& task_cache, GroupMaterial& material, const MemberStores& stores, std::uint32_t run,
               const MemberView& view)
    : task_cache_(task_cache),
      material_(material),
      states_(stores.states),
      messages_(stores.messages),
      copy_every_(stores.copy_every),
      view_(view),
      task_(material.terms.id),
      run_(run) {}

Result<std::optional<State>> Member::first_state(const kernels::StopToken& stop) {
    if (view_.anchor.empty()) {
        if (!material_.plan->has(kernels::Phase::init)) return error("the plan has no phase init");
        return material_.runner->init(stop);
    }
    if (!material_.plan->has(kernels::Phase::enter)) return error("the plan has no phase enter");
    const auto shared = fetch_anchor(task_cache_, material_, messages_, entry_of(view_));
    if (!shared) return error(shared.error().message);
    std::vector<const kernels::Tensor*> tensors;
    for (const kernels::Tensor& tensor : *shared) tensors.push_back(&tensor);
    return material_.runner->enter(view_.entered, tensors, stop);
}

Status<> Member::save_first(const State& state) {
    RETRACE_CHECK(states_.save(key_of(0), commit_state(material_.plan->root(), state, task_cache_.pool()), state));
    return states_.retain(key_of(0), true);
}

Result<bool> Member::enter(const kernels::StopToken& stop) {
    if (states_.commitment(key_of(0))) return true;
    RETRACE_TRY(state, first_state(stop));
    if (!state) return false;
    RETRACE_CHECK(save_first(*state));
    return true;
}

Status<> Member::fetch(const MessageKey& key, const std::vector<Hash32>& roots) {
    if (messages_.has(key, roots)) return Unit{};
    const auto tensors = task_cache_.fetch_message(*material_.plan, {roots, task_, key.run});
    if (!tensors) return error(tensors.error().message);
    return messages_.save(key, roots, *tensors);
}

Status<> Member::fetch(std::uint32_t round, const std::vector<SentMessage>& messages,
                       const std::function<bool()>& going_on) {
    std::vector<MessageKey> keys;
    std::vector<MessageRequest> requests;
    for (const SentMessage& sent : messages) {
        const MessageKey key = message_key(task_, round, sent);
        if (messages_.has(key, sent.tensors)) continue;
        keys.push_back(key);
        requests.push_back({sent.tensors, task_, sent.run});
    }
    Status<> out = Unit{};
    task_cache_.fetch_messages(material_, requests, [&](std::size_t place, const FetchedMessage& fetched) {
        const Status<> here = fetched ? messages_.save(keys[place], requests[place].roots, *fetched)
                                      : Status<>(error(fetched.error().message));
        if (!here && out) out = here;
        return going_on();
    });
    return out;
}

kernels::Message Member::message(const SegmentOrder& order, const kernels::Position& at) {
    loaded_.clear();
    if (at.phase == kernels::Phase::mask) return mask_message(order.masks, at, loaded_.emplace_back());
    const RecordView& view = order.records.at(at.record - order.span.from);
    if (at.phase == kernels::Phase::unmask) return mask_message(view.masks, at, loaded_.emplace_back());
    const RecordView::Entry& entry = view.entries.at(at.message);
    const std::vector<std::uint32_t>& numbers = material_.plan->public_tensors();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const kernels::TensorRecord& tensor_record = material_.plan->states().tensors[numbers[i]];
        auto tensor = messages_.tensor_of(message_key(task_, view.round, entry), static_cast<std::uint32_t>(i),
                                          tensor_record, task_cache_.pool());
        // A damaged file is removed, so that the next attempt fetches the message again.
        if (!tensor) throw std::runtime_error(tensor.error().message);
        loaded_.push_back(std::move(tensor).value());
    }
    kernels::Message out{facts_of(view, at.message), {}};
    for (const kernels::Tensor& tensor : loaded_) out.tensors.push_back(&tensor);
    return out;
}

Result<std::optional<Member::Start>> Member::start_of(const SegmentOrder& order, std::uint64_t inner_end,
                                                      std::optional<State>& suspended, const kernels::StopToken& stop) {
    if (suspended && !suspended->tensors.empty()) {
        State state = *std::exchange(suspended, std::nullopt);
        const std::uint64_t base = base_of(state.step), place = place_of_header(state.step);
        if (base == order.span.base && place <= inner_end) return std::optional(Start{std::move(state), place});
        // Positions of records that both segments take in are the same. A state with inner steps is of no use.
        const auto common = positions_up_to(order, base);
        if (common && place <= *common) return std::optional(Start{std::move(state), place});
    }
    suspended.reset();
    auto loaded = states_.load(key_of(order.start), task_cache_.pool());
    if (!loaded) {
        RETRACE_TRY(made, make_again(order.start, stop));
        if (!made) return std::optional<Start>();
        loaded = states_.load(key_of(order.start), task_cache_.pool());
    }
    if (!loaded) return error(loaded.error().message);
    // It may be below: closed rounds that leave the member nothing to do belong to no segment.
    if (base_of(loaded->step) > order.span.from) return error("the state before the segment has another base");
    return std::optional(Start{std::move(loaded).value(), 0});
}

Result<bool> Member::make(const SegmentOrder& order, const StepLimit& more, const std::function<OrderState()>& watch,
                          const kernels::StopToken& stop, std::optional<State>& suspended) {
    const std::uint32_t steps_max = material_.plan->steps_max();
    RETRACE_TRY(longest, positions_of(order, order.span.steps, steps_max));
    const std::uint64_t recorded = longest.recorded();
    const bool merges = kernels::merges(order.span);
    RETRACE_CHECK(fetch_all(order));
    // All positions but `press` and the masks behind it: the op step of `press` follows from the number of inner steps.
    const std::uint64_t inner_end = merges ? longest.count() : recorded + order.span.steps;
    RETRACE_TRY(start, start_of(order, inner_end, suspended, stop));
    if (!start) return false;
    auto& [state, place] = *start;
    const auto source = [&](const kernels::Position& at) { return message(order, at); };
    OrderState now = OrderState::going_on;
    const auto after = [&](std::uint64_t reached, const kernels::Position& at, const std::vector<kernels::Metric>&) {
        now = watch();
        if (now != OrderState::going_on || at.phase != kernels::Phase::inner) return now == OrderState::going_on;
        if (!more(static_cast<std::uint32_t>(reached - recorded))) return false;
        now = watch();  // Again: a paced member waits in `more`, where a report may interrupt it.
        return now == OrderState::going_on;
    };
    std::optional<State> taken_in;  // The state before the inner steps, of a member that is behind.
    // Inner steps that were stopped while their masks were not known may be enough by now.
    const bool enough = place > recorded && place < inner_end && !merges && !order.masks.empty() &&
                        !more(static_cast<std::uint32_t>(place - recorded));
    for (const std::uint64_t end : {recorded, inner_end}) {
        if (place >= end || enough) continue;
        PlanRunner::Copies copies{copy_every_};
        const auto reached = material_.runner->run(state, longest, place, end, run_, source, stop, after, &copies);
        if (!reached) {
            suspended = copies.newest ? std::move(copies.newest) : std::move(taken_in);
            return false;
        }
        place = *reached;
        if (now != OrderState::going_on && place < inner_end) {
            const bool lost = now == OrderState::too_late && place > recorded;
            suspended = lost ? std::move(taken_in) : std::optional(std::move(state));
            return false;
        }
        if (place == recorded && order.records.size() > 1) taken_in = state;
    }
    if (order.awaits_masks && !merges) {
        suspended = std::move(state);
        return false;
    }
    std::uint32_t steps = 0;
    if (merges) {
        steps = order.span.steps;
    } else if (order.span.steps != 0) {
        steps = static_cast<std::uint32_t>(place - recorded);
        RETRACE_TRY(whole, positions_of(order, steps, steps_max));
        if (!material_.runner->run(state, whole, place, whole.count(), run_, source, stop)) return false;
    }
    RETRACE_CHECK(save(order, steps, state));
    return true;
}

Status<> Member::fetch_all(const SegmentOrder& order) {
    for (const RecordView& record : order.records)
        for (const RecordView::Entry& entry : record.entries)
            RETRACE_CHECK(fetch(message_key(task_, record.round, entry), entry.tensors));
    return Unit{};
}

Result<SegmentOrder> Member::order_of(std::uint64_t index) const {
    const auto segment = std::ranges::find(view_.segments, index - 1, &OwnSegment::index);
    if (segment == view_.segments.end())
        return error("no state before state " + std::to_string(index) +
                     " is intact up to which its segments are known");
    SegmentOrder out{index, segment->start.value_or(segment->index), segment->span, {}};
    if (segment->span.masks != 0) return error("the masks of segment " + std::to_string(index - 1) + " are not known");
    for (const RecordView& record : records_between(view_.records, segment->span.from, segment->span.base)) {
        const auto before = std::ranges::find(view_.undone, record.round, &RecordView::round);
        const bool changed = before != view_.undone.end();
        // Regions change what a segment reads by its own mergers, and rollbacks by those that it knows of.
        const bool known =
            !changed || (!segment->span.regional && (segment->attempt == view_.attempt || segment->attempt == 0));
        if (!known) return error("how segment " + std::to_string(index - 1) + " read the records is not known");
        out.records.push_back(changed && segment->attempt != view_.attempt ? *before : record);
    }
    if (out.records.size() != segment->span.base - segment->span.from)
        return error("the records of segment " + std::to_string(index - 1) + " are not known");
    return out;
}

Result<bool> Member::replay(const SegmentOrder& order, State& state, const kernels::StopToken& stop) {
    RETRACE_CHECK(fetch_all(order));
    RETRACE_TRY(whole, positions_of(order, order.span.steps, material_.plan->steps_max()));
    const auto source = [&](const kernels::Position& at) { return message(order, at); };
    return material_.runner->run(state, whole, 0, whole.count(), run_, source, stop).has_value();
}

Result<bool> Member::make_again(std::uint64_t index, const kernels::StopToken& stop) {
    std::vector<SegmentOrder> way;  // The last one first.
    std::optional<State> state;
    for (std::uint64_t at = index;;) {
        if (at != index) {
            auto loaded = states_.load(key_of(at), task_cache_.pool());
            if (loaded) {
                state = std::move(loaded).value();
                break;
            }
        }
        if (at == 0) {
            RETRACE_TRY(first, first_state(stop));
            if (!first) return false;
            RETRACE_CHECK(save_first(*first));
            state = std::move(first);
            break;
        }
        RETRACE_TRY(order, order_of(at));
        at = order.start;
        way.push_back(std::move(order));
    }
    for (auto order = way.rbegin(); order != way.rend(); ++order) {
        RETRACE_TRY(made, replay(*order, *state, stop));
        if (!made) return false;
        RETRACE_CHECK(save(*order, order->span.steps, *state));
    }
    return true;
}

Status<> Member::save(const SegmentOrder& order, std::uint32_t steps, const State& state) {
    const kernels::StateCommitment commitment = commit_state(material_.plan->root(), state, task_cache_.pool());
    if (steps != 0) {
        std::vector<Hash32> roots;
        std::vector<kernels::Tensor> tensors;
        for (const std::uint32_t t : material_.plan->public_tensors()) {
            roots.push_back(commitment.tensor_roots[t]);
            tensors.push_back(state.tensors[t]);
        }
        RETRACE_CHECK(messages_.save({task_, static_cast<std::uint32_t>(order.span.base), run_}, roots, tensors));
    }
    RETRACE_CHECK(states_.save(key_of(order.index), commitment, state));
    return states_.retain(key_of(order.index), true);
}

Status<> Member::withdraw(std::uint64_t index, std::uint64_t base, bool undone) {
    const auto commitment = states_.commitment(key_of(index));
    if (!commitment) return Unit{};
    if (!undone && base_of(commitment->header.step) > base)
        return error("the node is behind: this member has a state of round " +
                     std::to_string(base_of(commitment->header.step)));
    // After a rollback the same round may have a message that was sent; one that was not is deleted with its round.
    if (!undone) messages_.remove({task_, static_cast<std::uint32_t>(base_of(commitment->header.step)), run_});
    return states_.withdraw(key_of(index));
}

}  // namespace retrace::solver
