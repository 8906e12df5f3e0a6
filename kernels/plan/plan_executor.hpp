// SPDX-License-Identifier: MIT
// Runs positions of a plan. SPEC 3.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "kernels/exec/executor.hpp"
#include "kernels/plan/positions.hpp"

namespace retrace::kernels {

/// What `add` needs to know of a message.
struct MessageFacts {
    std::uint32_t weight = 0, total = 0;  ///< Its weight, and the sum of the record's, below kWeightsMax.
    std::uint32_t age = 0, steps = 0;
    bool operator==(const MessageFacts&) const = default;
};
/// Weight of a message whose inner steps began `age` rounds before the one that it was sent in, at most `max_age`.
constexpr std::uint32_t message_weight(std::uint32_t steps, std::uint32_t age, std::uint32_t max_age) {
    return steps * (max_age + 1 - age);
}
/// Facts of the position that puts on or takes off the mask of a row.
constexpr MessageFacts mask_facts(std::uint32_t row) { return {row, 0, 0, 0}; }
inline constexpr std::uint32_t kWeightsMax = 1u << 24;  ///< The weights of a record sum up to less, as fp32 are exact.
Tensor fact_tensor(const MessageFacts& facts);

/// What a position reads: of a message (`add`, `merge_add`) the public tensors of its member, in the plan's order; for `unmask` and
/// `mask` the table of masks.
struct Message {
    MessageFacts facts;
    std::vector<const Tensor*> tensors;
};
/// Whether the phase reads a Message.
constexpr bool reads_message(Phase phase) {
    return takes_messages(phase) || phase == Phase::unmask || phase == Phase::mask;
}
/// Returns what such a position reads; the tensors outlive the position that is run.
using MessageSource = std::function<Message(const Position&)>;

/// Seeds and data of a member.
struct MemberInputs {
    std::uint64_t task_seed = 0, member_seed = 0;
    std::vector<const Tensor*> datasets;  ///< Of the inner steps.
};

/// First 8 bytes, little endian, of SHA-256("retrace/member-seed/1" ‖ seed u64 LE ‖ run u32 LE).
std::uint64_t member_seed(std::uint64_t task_seed, std::uint32_t run);

class PlanExecutor {
public:
    /// `plan` passed `check`; it and `pool` outlive the executor.
    PlanExecutor(const GroupPlan& plan, ThreadPool& pool, Backend backend = Backend::cpu);
    ~PlanExecutor();

    /// The state of a member that begins with the group: header step 0. The plan has the phase.
    State init(std::uint64_t task_seed);
    /// The state of a member that joins at the start of round `base`.
    State enter(std::uint64_t base, const std::vector<const Tensor*>& shared, std::uint64_t task_seed);
    /// Runs the positions from `first` to `last` - 1 of a segment. Returns the metrics of the inner steps, one entry a
    /// step.
    std::vector<std::vector<Metric>> run(State& state, const SegmentPositions& segment, std::uint64_t first,
                                         std::uint64_t last, const MemberInputs& inputs, const MessageSource& messages);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace retrace::kernels
