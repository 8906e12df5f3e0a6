// SPDX-License-Identifier: MIT
// The plan of a training by many members in rounds: programs over one list of state tensors, one for each phase
// (plan/SPEC.md 1). The plan's root stands in state roots where that of a single program stands otherwise.
#pragma once

#include <vector>

#include "kernels/program/codec.hpp"

namespace retrace::kernels {

/// Wire-stable. A plan has each phase at most once, in this order.
enum class Phase : std::uint8_t {
    init = 1,     ///< The state of a member that begins with the group.
    enter = 2,    ///< The state of a later member, from the shared tensors of a finished round (its data sets).
    begin = 3,    ///< Before the messages of a round: clears sums.
    add = 4,      ///< Takes one message (its data sets: the public tensors, and FactTensor).
    end = 5,      ///< After the messages of a round.
    inner = 6,    ///< One training step on the member's data.
    restore = 7,  ///< Takes back the member's own message, which no round has.
    press = 8,    ///< Makes the member's message of its local changes.
    unmask = 9,   ///< After the messages of a round under masks: takes a mask out of their sum (MaskTable, FactTensor).
    mask = 10,    ///< After `press`: puts a mask over the message (MaskTable, FactTensor).
    // Only in a plan with regions, which has all four, and neither `unmask` nor `mask`:
    merge_begin = 11,    ///< Before the messages of a region: clears their sum.
    merge_add = 12,      ///< Takes one of them (its data sets: those of `add`).
    merge_press = 13,    ///< Makes one message of the sum.
    merge_restore = 14,  ///< Takes back such a message, which no record has.
};
/// Wire-stable: the phases that a plan has at most.
inline constexpr Phase kLastPhase = Phase::merge_restore;

struct PhaseProgram {
    Phase phase{};
    bool member_seed = false;  ///< Random ops and the order of samples follow the member's seed, not the task's.
    Program program;
    bool operator==(const PhaseProgram&) const = default;
};

struct GroupPlan {
    std::uint32_t steps_max = 0;                ///< Most inner steps of a member in a round, H_max.
    std::uint32_t shared = 0;                   ///< The first state tensors, equal for all members with one base.
    std::vector<std::uint32_t> public_tensors;  ///< State tensors that are a member's message, ascending.
    std::vector<PhaseProgram> phases;
    bool operator==(const GroupPlan&) const = default;

    /// Null if the plan has no such phase.
    const Program* find(Phase phase) const noexcept;
    const PhaseProgram& at(Phase phase) const;  ///< Asserts that it is there.
    /// Whether messages are sent under masks: the plan has `unmask` and `mask`.
    bool has_masks() const noexcept { return find(Phase::mask) != nullptr; }
    /// Whether members merge the messages of a region, so that every second record is one of merged messages (SPEC 2.7).
    bool has_regions() const noexcept { return find(Phase::merge_begin) != nullptr; }
};

/// Whether the phase takes in a message.
constexpr bool takes_messages(Phase phase) noexcept { return phase == Phase::add || phase == Phase::merge_add; }

/// The facts about a message that `add` and `merge_add` read: i32 [1, 4], weight, sum of the record's weights, age, steps.
inline const Dims kFactDims{1, 4};

/// Whether all members compute the same in the phase, from records alone.
constexpr bool is_common(Phase phase) { return phase < Phase::inner || phase == Phase::unmask; }

/// Inner steps of a round are at most this.
inline constexpr std::uint32_t kInnerStepsMax = 1u << 16;

Bytes encode(const GroupPlan& plan);
/// Whether a file begins as those of plans do, and not as those of programs.
bool is_plan(View file) noexcept;
/// Decodes and checks.
Result<GroupPlan> decode_plan(View bytes, const Limits& limits = {});
/// Checks what plan/SPEC.md 1.3 lists, for programs that passed their own `check`; the error names phase and tensor.
Status<> check(const GroupPlan& plan);

/// What a plan's root commits to. The ledger has it in place of the programs.
struct PlanHeader {
    struct PhaseRoot {
        Phase phase{};
        bool member_seed = false;
        Hash32 program;
        bool operator==(const PhaseRoot&) const = default;
    };
    std::uint32_t steps_max = 0, shared = 0;
    std::vector<std::uint32_t> public_tensors;
    std::vector<PhaseRoot> phases;
    bool operator==(const PlanHeader&) const = default;

    /// H(0a ‖ version u32 ‖ mode u8 ‖ steps_max u32 ‖ shared u32 ‖ public tensors u32 count, u32 each ‖ phases u32 count,
    /// each kind u8, seed u8, program root).
    Hash32 root() const;
};
PlanHeader header_of(const GroupPlan& plan);
Hash32 plan_root(const GroupPlan& plan);

}  // namespace retrace::kernels
