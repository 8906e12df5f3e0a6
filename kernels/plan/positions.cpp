// SPDX-License-Identifier: MIT
#include "kernels/plan/positions.hpp"

#include <algorithm>

#include "kernels/plan/mask_table.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::kernels {

Result<SegmentPositions> SegmentPositions::make(const SegmentSpan& span, std::span<const std::uint32_t> messages,
                                                std::uint32_t steps_max, std::span<const std::uint32_t> masks) {
    if (span.base < span.from || span.base - span.from != messages.size())
        return error("segment: its base does not follow its records");
    if (span.base >= std::uint64_t{1} << (64 - kPlaceBits)) return error("segment: its base is over 2^44");
    if (span.steps > steps_max) return error("segment: more inner steps than the plan allows");
    if (span.omitted && (*span.omitted < span.from || *span.omitted >= span.base))
        return error("segment: the record without its message is outside it");
    if (!masks.empty() && masks.size() != messages.size()) return error("segment: its records lack numbers of masks");
    if (span.masks > kMaskRowsMax || (span.masks != 0 && span.steps == 0))
        return error("segment: too many masks, or masks of no message");
    if (span.regional && (span.masks != 0 || std::ranges::any_of(masks, [](std::uint32_t n) { return n != 0; })))
        return error("segment: messages under masks are not merged in regions");
    const bool merging = merges(span);
    // Its own message is in the record, and `merge_press` overwrites it.
    if (merging && (span.steps != 1 || messages.empty() || messages.back() == 0 || span.omitted == span.base - 1))
        return error("segment: it merges nothing, or in more than one step");
    const std::size_t taken = messages.size() - (merging ? 1 : 0);
    SegmentPositions out;
    out.span_ = span;
    out.steps_max_ = steps_max;
    for (std::size_t i = 0; i < taken; ++i) {
        if (span.regional && (span.from + i) % 2 == 0 && messages[i] != 0)
            return error("segment: it takes in a record that has to be merged first");
        const std::uint32_t of_sum = masks.empty() ? 0 : masks[i];
        if (of_sum > kMaskRowsMax || (of_sum != 0 && messages[i] == 0))
            return error("segment: too many masks, or masks of no message");
        // begin, the messages, the masks of their sum, end; nothing for an empty record.
        if (messages[i] != 0) out.count_ += 2 + std::uint64_t{messages[i]} + of_sum;
        out.messages_.push_back(messages[i]);
        if (span.omitted == span.from + i) ++out.count_;
        out.ends_.push_back(out.count_);
        if (out.count_ > kPositionsMax) break;
    }
    if (merging)
        out.count_ += 2 + std::uint64_t{messages.back()};
    else if (span.steps != 0)
        out.count_ += std::uint64_t{span.steps} + 1 + span.masks;
    if (out.count_ > kPositionsMax) return error("segment: more than 2^20 - 1 positions");
    return out;
}

Position SegmentPositions::at(std::uint64_t place) const {
    ensure(place < count_, "a position of the segment");
    if (place >= recorded() && merges(span_)) {
        const std::uint64_t step = place - recorded(), record = span_.base - 1, op_step = op_step_of(record);
        if (step == 0) return {Phase::merge_begin, record, 0, op_step};
        if (place + 1 == count_) return {Phase::merge_press, record, 0, op_step};
        return {Phase::merge_add, record, static_cast<std::uint32_t>(step - 1), op_step};
    }
    if (place >= recorded()) {
        const std::uint64_t step = place - recorded();
        // A key stream is that of step 0, whoever makes it.
        if (step > span_.steps) return {Phase::mask, 0, static_cast<std::uint32_t>(step - span_.steps - 1), 0};
        const std::uint64_t first = trained_rounds(span_.base, span_.regional) * steps_max_;
        return {step < span_.steps ? Phase::inner : Phase::press, 0, 0, first + step};
    }
    const auto found = std::ranges::upper_bound(ends_, place);
    const auto index = static_cast<std::size_t>(found - ends_.begin());
    const std::uint64_t first = index == 0 ? 0 : ends_[index - 1], in_record = place - first;
    Position out;
    out.record = span_.from + index;
    // The same in every segment that takes in the record, whatever its base: otherwise members would differ.
    out.op_step = op_step_of(out.record);
    const bool restores = span_.omitted == out.record;
    const std::uint64_t of_record = ends_[index] - first - (restores ? 1 : 0);
    if (in_record == of_record) {
        // A message of a round of merged ones is a merged one.
        out.phase = span_.regional && out.record % 2 == 1 ? Phase::merge_restore : Phase::restore;
    } else if (in_record == 0) {
        out.phase = Phase::begin;
    } else if (in_record + 1 == of_record) {
        out.phase = Phase::end;
    } else if (in_record <= messages_[index]) {
        out.phase = Phase::add;
        out.message = static_cast<std::uint32_t>(in_record - 1);
    } else {
        out.phase = Phase::unmask;
        out.message = static_cast<std::uint32_t>(in_record - 1 - messages_[index]);
        out.op_step = 0;
    }
    return out;
}

}  // namespace retrace::kernels
