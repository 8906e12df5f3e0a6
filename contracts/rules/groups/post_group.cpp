// SPDX-License-Identifier: MIT
// SPEC 21.2. Posts the training of a group of members in rounds.
#include <algorithm>
#include <bit>
#include <functional>

#include "contracts/lifecycle/groups/members.hpp"
#include "contracts/lifecycle/market/posting.hpp"
#include "contracts/records/group_positions.hpp"
#include "contracts/records/validator_views.hpp"
#include "contracts/rules/groups/rules.hpp"
#include "market/rollbacks.hpp"

namespace retrace::contracts {
namespace {

using market::GroupSpec;

constexpr std::uint64_t kWindowMax = 1'000'000'000;

bool is_window(std::uint64_t blocks) { return blocks > 0 && blocks <= kWindowMax; }

/// 21.2.2: the task has a segment for each round, and one that takes in the last records.
bool fits_task(const GroupSpec& group, const TaskSpec& spec) {
    return group.rounds > 0 && group.rounds <= market::kRoundsMax && spec.interval == 1 &&
           spec.steps == std::uint64_t{group.rounds} + 1;
}

bool are_members_in_range(const GroupSpec& group, const TaskSpec& spec) {
    return group.least >= 2 && group.least <= spec.replicas;
}

/// 21.2.4: each segment that the limits allow has a legal number of positions, and each record fits into a segment.
bool are_limits_in_range(const GroupSpec& group, const TaskSpec& spec) {
    if (group.steps_max == 0 || group.steps_max > kernels::kInnerStepsMax) return false;
    if (group.keep_rounds == 0 || group.keep_rounds > market::kKeepRoundsMax) return false;
    // A member has its messages within its time to be away, and finds those that it missed then.
    if (group.absence_limit == 0 || group.absence_limit > group.keep_rounds) return false;
    if (group.max_age >= group.absence_limit || group.max_age > group.keep_rounds - group.absence_limit) return false;
    if (std::uint64_t{group.steps_max} * (group.max_age + 1) * spec.replicas >= kernels::kWeightsMax) return false;
    if (group.catch_up_max < spec.replicas || group.catch_up_max > kernels::kPositionsMax) return false;
    // So many masks may be in the sum of a record, which one segment has to take in whole.
    if (group.mask_bits != 0 && group.catch_up_max < spec.replicas + kernels::kMaskRowsMax) return false;
    // For each record `begin` and `end`, at most one `restore`, its messages and masks, the inner steps, `press`, masks.
    const std::uint64_t positions = std::uint64_t{2} * group.keep_rounds + 1 + group.catch_up_max + group.steps_max +
                                    1 + (group.mask_bits != 0 ? kernels::kMaskRowsMax : 0);
    return positions <= kernels::kPositionsMax;
}

/// 21.11.1: a group with masks has a cohort in each round, and time for keys, shares, complaints and messages in it.
bool are_masks_in_range(const GroupSpec& group, const TaskSpec& spec) {
    if (group.mask_bits == 0) return group.mask_blocks == 0;
    if (group.max_age != 0) return false;       // A message has the masks of the round that it is sent in.
    if (group.private_sets != 0) return false;  // 21.11.34
    const unsigned sum_bits = group.mask_bits + static_cast<unsigned>(std::bit_width(spec.replicas - 1u));
    return sum_bits <= 32 && group.least >= market::kCohortMin && spec.replicas <= market::kMaskedMembersMax &&
           is_window(group.mask_blocks) && 3 * (group.mask_blocks + 1) + group.mask_blocks < group.round_blocks;
}

/// 21.14.1: a rollback finds states and messages to begin with, and most of the rounds are left whatever is undone.
bool are_rollbacks_in_range(const GroupSpec& group, const TaskSpec& spec) {
    if (group.rollbacks == 0) return group.ahead == 0;
    if (group.rollbacks > market::kRollbacksMax || group.ahead == 0 || group.ahead > market::kAheadMax) return false;
    // An entry cannot leave a sum under masks, and a message has to be of the round that it is sent in.
    if (group.mask_bits != 0 || group.max_age != 0) return false;
    // A loss reads all messages that it may undo.
    if (group.ahead * spec.replicas > market::kUndoneMax) return false;
    return group.ahead + group.absence_limit <= group.keep_rounds &&
           group.rounds >= std::uint32_t{4} * group.rollbacks * group.ahead;
}

/// 21.13.1: nobody has the members' data, so the task has none, and is paid for what nobody audits. A member has two
/// segments for each base.
bool is_private_in_range(const GroupSpec& group, const TaskSpec& spec) {
    if (group.private_sets == 0) return true;
    if (group.rollbacks != 0) return false;  // Segments that train take in no record, so they could not go back.
    return group.private_sets <= market::kPrivateSetsMax && spec.data_roots.empty() && spec.allow_unaudited &&
           2 * spec.steps <= market::kSegmentsMax;
}

/// 21.20.1: regions of at least two members, in rounds that alternate.
bool are_regions_in_range(const GroupSpec& group, const TaskSpec& spec) {
    if (group.regions == 0) return group.merge_blocks == 0;
    if (group.regions < 2 || group.regions > kernels::kRegionsMax || 2 * group.regions > spec.replicas) return false;
    if (group.max_age != 0 || group.rollbacks != 0 || group.mask_bits != 0 || group.private_sets != 0) return false;
    // A member that was away for `absence_limit` rounds of training has missed as many of merged messages.
    if (group.rounds % 2 != 0 || 2 * group.absence_limit > group.keep_rounds) return false;
    const std::uint64_t positions =
        std::uint64_t{2} * group.keep_rounds + 1 + group.catch_up_max + spec.replicas + std::uint64_t{2};
    return is_window(group.merge_blocks) && positions <= kernels::kPositionsMax;
}

/// 20.4.3: as many blocks as one party may have turns in a row, so that it leaves nobody's keys or shares out of a step;
/// 0 on a chain without validators.
std::uint64_t longest_turn(const StateView& view) {
    const auto rules = views::validator_rules(view);
    return rules ? std::max<std::uint64_t>(rules->places, views::validator_set(view).size()) : 0;
}

bool are_tensors_legal(const GroupSpec& group) {
    const auto& sent = group.public_tensors;
    if (group.shared == 0 || group.shared > market::kSharedTensorsMax) return false;
    if (sent.empty() || sent.size() > market::kPublicTensorsMax) return false;
    if (sent.front() < group.shared) return false;
    return std::adjacent_find(sent.begin(), sent.end(), std::greater_equal<>()) == sent.end();
}

/// Whether the group has each phase once, in their order. Members begin alike and take in records alike, so nothing
/// before `inner` may follow a member's seed.
bool are_phases_legal(const GroupSpec& group) {
    const std::size_t phases = group.mask_bits != 0 ? market::kMaskedPlanPhases
                               : group.regions != 0 ? market::kRegionalPlanPhases
                                                    : market::kPlanPhases;
    if (group.phases.size() != phases) return false;
    for (std::size_t i = 0; i < group.phases.size(); ++i) {
        const market::PhaseRoot& phase = group.phases[i];
        const std::size_t left_out = i < market::kPlanPhases || group.regions == 0 ? 0 : 2;  // `unmask` and `mask`
        if (phase.phase != i + 1 + left_out || phase.program_root.is_zero()) return false;
        if (phase.member_seed && kernels::is_common(static_cast<kernels::Phase>(phase.phase))) return false;
    }
    return true;
}

}  // namespace

CallStatus check(const PostGroup& call) {
    const auto& [spec, group] = std::tie(call.spec, call.group);
    const CallStatus terms = check_terms(spec, market::kMembersMax);
    if (terms != CallStatus::ok) return terms;                                            // 21.2.1
    if (!fits_task(group, spec)) return CallStatus::group_terms_out_of_range;             // 21.2.2
    if (!are_members_in_range(group, spec)) return CallStatus::group_terms_out_of_range;  // 21.2.3
    if (!are_limits_in_range(group, spec)) return CallStatus::group_terms_out_of_range;   // 21.2.4
    if (!is_window(group.round_blocks) || !is_window(group.grace_blocks) || !is_window(group.fetch_blocks) ||
        !is_window(group.reveal_blocks))
        return CallStatus::group_terms_out_of_range;                                         // 21.2.5
    if (!are_masks_in_range(group, spec)) return CallStatus::group_terms_out_of_range;       // 21.11.1
    if (!are_rollbacks_in_range(group, spec)) return CallStatus::group_terms_out_of_range;   // 21.14.1
    if (!is_private_in_range(group, spec)) return CallStatus::group_terms_out_of_range;      // 21.13.1
    if (!are_regions_in_range(group, spec)) return CallStatus::group_terms_out_of_range;     // 21.20.1
    if (!are_tensors_legal(group) || !are_phases_legal(group)) return CallStatus::bad_plan;  // 21.2.6
    if (plan_of(group).root() != spec.program_root) return CallStatus::bad_plan;             // 21.2.7
    if (group.phases.front().program_root != spec.init_root) return CallStatus::bad_plan;    // 21.2.8
    return CallStatus::ok;
}

CallStatus admit(const PostGroup& call, const TxContext& context, const StateView& view) {
    if ((call.group.mask_bits != 0 || call.group.regions != 0) && !context.params.developer_chain)
        return CallStatus::group_terms_out_of_range;  // 21.11.35, 21.20.1
    if (call.group.regions != 0 && call.group.round_blocks < 2 * context.params.epoch_blocks)
        return CallStatus::group_terms_out_of_range;  // 21.20.1
    if (call.group.mask_bits != 0 && call.group.mask_blocks < longest_turn(view))
        return CallStatus::group_terms_out_of_range;  // 21.11.1
    if (absence_blocks(call.group) >= context.params.unbond_blocks ||
        call.spec.checkpoint_blocks >= context.params.unbond_blocks)
        return CallStatus::group_terms_out_of_range;            // 21.2.9
    return admit_terms(call.spec, &call.group, context, view);  // 21.2.10
}

void apply(const PostGroup& call, const TxContext& context, Effects& fx) {
    hand_over(fx, Contract::groups, Contract::market, context.value);
    market::Group group;
    group.task = post_task(fx, context.sender, call.spec, context.value);
    group.phase = market::GroupPhase::starting;
    store(fx.state, keys::group_spec(group.task), call.group);
    store(fx.state, keys::group(group.task), group);
}

}  // namespace retrace::contracts
