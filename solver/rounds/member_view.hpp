// SPDX-License-Identifier: MIT
// What a member of a group sees of its group at one block, beside its RunView.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "solver/rounds/group_view.hpp"

namespace retrace::solver {

/// The phases of a round; the contracts use the same numbers.
enum class RoundPhase : std::uint8_t {
    starting = 1,
    training = 2,
    spreading = 3,
    revealing = 4,
    over = 5,
    unmasking = 6,
    settling = 7,
};

/// A message that a member committed to in the open round.
struct SentMessage {
    std::uint32_t run = 0, steps = 0;
    std::vector<Hash32> tensors;               ///< Roots of the public tensors.
    std::uint32_t age = 0;                     ///< Rounds from the base of its inner steps to the open one.
    bool wanted = true;                        ///< The member lists it if it has it.
    std::optional<std::uint32_t> before = {};  ///< Another run's message of the same region, which is recorded rather.
    bool operator==(const SentMessage&) const = default;
};

/// A segment of the member, which ends in its state `index` + 1.
struct OwnSegment {
    std::uint64_t index = 0;
    kernels::SegmentSpan span;
    std::uint8_t attempt = 0;                 ///< Number of rollbacks that it knows of.
    std::optional<std::uint64_t> start = {};  ///< The state that it starts at; nullopt: state `index`.
    bool operator==(const OwnSegment&) const = default;
};

struct MemberView {
    RoundPhase phase{};
    std::uint32_t round = 0;     ///< The open round; once all are closed, their number.
    std::uint64_t deadline = 0;  ///< Height after which the phase ends at the latest; 0: none.
    bool extended = false;       ///< The time to fetch was given once more.
    std::uint32_t base = 0;      ///< Base at which its next segment begins (contracts 21.5).
    std::uint32_t entered = 0;   ///< Base of its first state,
    std::vector<Hash32> anchor;  ///< and the roots of the shared tensors that it was made from; empty: by `init`.
    std::uint8_t attempt = 0;    ///< Number of rollbacks (contracts 21.14) that its next segment knows of,
    std::uint32_t intact = 0;    ///< and the first round that none of them has emptied.
    std::optional<std::uint64_t> start;  ///< The state that it starts at; nullopt: the newest one.
    /// The closed round that the member's last message was sent in, if the next segment takes in that round and the
    /// message is not in its record.
    std::optional<std::uint64_t> omitted;
    /// Records that the segments below or the next one take in: from the lowest `from` to round - 1, without gaps, as the
    /// next one reads them,
    std::vector<RecordView> records;
    std::vector<RecordView> undone;      ///< and those of them that rollbacks or regions changed, as they were.
    std::vector<OwnSegment> segments;    ///< Those that are not finalised, and the newest one in any case, ascending.
    std::vector<SentMessage> committed;  ///< In the order of the bits of holdings.
    std::vector<kernels::MaskRow>
        masks;                ///< In a group with masks, those over its message of the open round, once known.
    bool merges = false;      ///< In this round it sends a message that it merges for its region, and no other.
    bool may_commit = false;  ///< A segment with inner steps, and base `round` or one within max_age.
    bool may_begin = false;   ///< With inner steps whose message is taken once members have agreed on its masks.
    bool may_go_on = false;   ///< With inner steps for a message that may be sent in a later round.
    bool may_finish = false;  ///< The last one: without inner steps, and base `round`.
    bool may_list = false, may_reveal = false;
    bool may_commit_data = false;  ///< In a private group: its data sets are not fixed yet.
    bool operator==(const MemberView&) const = default;
};

/// How the member's state 0 is made.
inline EntryView entry_of(const MemberView& member) { return {member.entered, member.anchor}; }

}  // namespace retrace::solver
