// SPDX-License-Identifier: MIT
// Which program a member runs at each position of a segment: a pure function of the plan and the records of rounds.
// SPEC 2.
#pragma once

#include <optional>
#include <span>

#include "kernels/plan/group_plan.hpp"

namespace retrace::kernels {

/// A segment of a member: it takes in the records from its previous base to the one before `base`, then trains.
struct SegmentSpan {
    std::uint64_t from = 0;   ///< The previous base, that of the segment's start.
    std::uint64_t base = 0;   ///< The round whose start the inner steps begin at; at least `from`.
    std::uint32_t steps = 0;  ///< Inner steps, at most the plan's steps_max; 0: it only catches up.
    /// The record, from `from` to base - 1, in which the member's last message should be and is not.
    std::optional<std::uint64_t> omitted;
    std::uint32_t masks = 0;  ///< Masks of its message, at most kMaskRowsMax; 0: it is sent as it is.
    bool regional = false;    ///< Of a plan with regions: records with odd numbers are those of merged messages.
    bool operator==(const SegmentSpan&) const = default;
};

/// Whether the segment merges the messages of record base - 1 (SPEC 2.7). It then has one step, and that record is the
/// last one of the segment, with the messages of its region alone.
constexpr bool merges(const SegmentSpan& span) noexcept {
    return span.regional && span.base % 2 == 1 && span.steps != 0;
}
/// The number of training rounds before a round.
constexpr std::uint64_t trained_rounds(std::uint64_t round, bool regional) noexcept {
    return regional ? round / 2 : round;
}

/// What happens at one position.
struct Position {
    Phase phase{};
    std::uint64_t record = 0;  ///< Of all phases but inner, press and mask: the record.
    std::uint32_t message =
        0;  ///< add, merge_add: the number of the message in it; unmask, mask: the row of the masks.
    std::uint64_t op_step = 0;  ///< The step that the ops see: schedules, the order of samples, random streams.
    bool operator==(const Position&) const = default;
};

/// Steps of state headers are base · 2^20 + place.
inline constexpr std::uint32_t kPlaceBits = 20;
inline constexpr std::uint64_t kPositionsMax = (std::uint64_t{1} << kPlaceBits) - 1;
/// The step in the header of the state at the beginning of a round (place 0), or after `place` positions of a segment
/// with that base.
constexpr std::uint64_t header_step(std::uint64_t base, std::uint64_t place) { return base << kPlaceBits | place; }

class SegmentPositions {
public:
    /// `messages`: the number of messages of each record from span.from to span.base - 1. `masks`: how many are in the sum
    /// of each of these records; empty: none are. Errors: a base before the start, too many steps, masks or positions, a
    /// record outside the segment, masks of no message; with regions, masks, messages of a record that the segment does not
    /// take in, or a merger without messages or of another number of steps than one.
    static Result<SegmentPositions> make(const SegmentSpan& span, std::span<const std::uint32_t> messages,
                                         std::uint32_t steps_max, std::span<const std::uint32_t> masks = {});

    std::uint64_t count() const noexcept { return count_; }
    const SegmentSpan& span() const noexcept { return span_; }
    /// The positions before the inner steps, or before those that merge.
    std::uint64_t recorded() const noexcept { return ends_.empty() ? 0 : ends_.back(); }
    /// `place` < count(). Takes time logarithmic in the number of records.
    Position at(std::uint64_t place) const;

private:
    SegmentPositions() = default;
    SegmentSpan span_;
    std::uint32_t steps_max_ = 0;
    std::vector<std::uint64_t> ends_;      ///< Positions up to the end of each record's.
    std::vector<std::uint32_t> messages_;  ///< Of each record.
    std::uint64_t count_ = 0;

    std::uint64_t op_step_of(std::uint64_t record) const noexcept {
        return (trained_rounds(record, span_.regional) + 1) * steps_max_;
    }
};

}  // namespace retrace::kernels
