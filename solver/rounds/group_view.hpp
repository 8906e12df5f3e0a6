// SPDX-License-Identifier: MIT
// What parties see of a group task on the chain: its terms, the records of rounds, and the segments of members.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/plan/mask_table.hpp"
#include "kernels/plan/plan_executor.hpp"
#include "merkle/base/bytes.hpp"

namespace retrace::solver {

/// The terms of a group beside TaskTerms, of which program_root is then the plan's root and program_bytes the size of
/// the plan's file.
struct GroupTerms {
    std::uint32_t rounds = 0;
    std::uint32_t steps_max = 0;  ///< Most inner steps of a member in a round.
    std::uint32_t shared = 0;     ///< Number of shared tensors, which are the first of a state.
    std::vector<std::uint32_t> public_tensors;
    std::uint32_t members = 0;       ///< Most members.
    std::uint32_t keep_rounds = 0;   ///< Rounds for which messages are served; most records of one segment.
    std::uint32_t catch_up_max = 0;  ///< Most messages that one segment takes in.
    std::uint32_t max_age = 0;       ///< Most rounds from the base of a message to the one that it is sent in.
    std::uint32_t mask_bits = 0;     ///< Bits of a value that is sent under masks; 0: without masks.
    std::uint32_t private_sets = 0;  ///< Data sets that a member brings; 0: those of TaskTerms, which all have.
    std::uint32_t regions = 0;       ///< Not 0: messages of rounds with even numbers are merged (kernels/plan 2.7).
    bool operator==(const GroupTerms&) const = default;
};

/// The record of a closed round; in a segment's view as that segment reads it.
struct RecordView {
    struct Entry {
        std::uint32_t run = 0, steps = 0;
        std::vector<Hash32> tensors;  ///< Roots of the public tensors.
        std::uint32_t weight = 0;
        std::uint32_t age = 0;     ///< Rounds from the base of its inner steps to the record's.
        std::uint32_t region = 0;  ///< With regions: the one whose messages it is merged with, or of.
        bool operator==(const Entry&) const = default;
    };
    std::uint32_t round = 0;
    std::uint32_t total = 0;                   ///< Sum of the entries' weights.
    std::vector<Entry> entries;                ///< Recorded messages, by ascending run.
    std::vector<kernels::MaskRow> masks = {};  ///< In a group with masks, those in the sum of the messages.
    bool operator==(const RecordView&) const = default;
};

/// What a position reads of masks: the table of these rows, which is written to `table`, and the number of its row.
kernels::Message mask_message(const std::vector<kernels::MaskRow>& rows, const kernels::Position& position,
                              kernels::Tensor& table);
/// What `add` needs to know of a record's message.
kernels::MessageFacts facts_of(const RecordView& record, std::size_t entry);

/// A segment of a member, with all that its replay needs from the chain.
struct SegmentView {
    kernels::SegmentSpan span;
    std::uint64_t start_step = 0;     ///< Step in the header of the state at its start.
    std::vector<RecordView> records;  ///< From span.from to span.base - 1, without gaps, as the segment reads them.
    /// The state of the run that it starts at; nullopt: that of its index. Another one after a rollback (contracts 21.14).
    std::optional<std::uint64_t> start_state = {};
    std::vector<kernels::MaskRow> masks = {};  ///< Of its message, span.masks of them, once they are known.
    bool operator==(const SegmentView&) const = default;

    /// Errors: records that are not those of the span, and what kernels::SegmentPositions::make refuses.
    Result<kernels::SegmentPositions> positions(std::uint32_t steps_max) const;
};

/// The state that segment `index` of a run starts at; `member` is set for a group's task.
inline std::uint64_t start_state_of(const std::optional<SegmentView>& member, std::uint64_t index) {
    return member ? member->start_state.value_or(index) : index;
}

/// How a member's state 0 is made.
struct EntryView {
    std::uint32_t base = 0;      ///< Round at which the member begins.
    std::vector<Hash32> anchor;  ///< Empty: by the phase `init`. Else roots of the shared tensors that `enter` reads.
    bool operator==(const EntryView&) const = default;
};

}  // namespace retrace::solver
