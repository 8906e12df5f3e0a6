// SPDX-License-Identifier: MIT
#include "node/tasks/group_task.hpp"

#include <algorithm>
#include <limits>

#include "kernels/commit/contract.hpp"
#include "kernels/plan/mask_table.hpp"
#include "kernels/plan/plan_executor.hpp"
#include "kernels/program/codec.hpp"
#include "market/masks/records.hpp"
#include "merkle/base/durable_file.hpp"

namespace retrace::node {
namespace {

constexpr std::uint64_t kPlanBytesMax = std::uint64_t{4} << 30;
constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

std::uint64_t times(std::uint64_t a, std::uint64_t b) { return b != 0 && a > kMost / b ? kMost : a * b; }

Status<> check_counts(const GroupTerms& terms, std::uint32_t least, std::uint64_t catch_up_max) {
    if (terms.members < 2 || terms.members > market::kMembersMax)
        return error("[rounds] members must be from 2 to " + std::to_string(market::kMembersMax) +
                     " on the market, where a message is recorded when other members have it");
    if (least < 2 || least > terms.members) return error("[rounds] least_members must be from 2 to members");
    if (terms.keep_rounds > market::kKeepRoundsMax)
        return error("[rounds] keep_rounds must be at most " + std::to_string(market::kKeepRoundsMax));
    if (terms.absence_limit >= terms.keep_rounds)
        return error("[rounds] absence_limit must be below keep_rounds, or a member that returns finds no messages");
    if (terms.max_age >= terms.absence_limit)
        return error("[rounds] max_age must be below absence_limit, or a member that trains so long is away too long");
    if (terms.max_age > terms.keep_rounds - terms.absence_limit)
        return error("[rounds] max_age and absence_limit must together be at most keep_rounds");
    const std::uint64_t weights = times(times(terms.inner, terms.max_age + std::uint64_t{1}), terms.members);
    if (weights >= kernels::kWeightsMax)
        return error("[rounds] inner, max_age + 1 and members must have a product below " +
                     std::to_string(kernels::kWeightsMax));
    if (catch_up_max < terms.members || catch_up_max > kernels::kPositionsMax)
        return error("[rounds] catch_up_max must be from the number of members to " +
                     std::to_string(kernels::kPositionsMax));
    return Unit{};
}

Status<> check_rollbacks(const GroupTerms& terms) {
    if (terms.rollbacks == 0)
        return terms.ahead == 0 ? Status<>(Unit{}) : error("[rounds] ahead is for a task with rollbacks");
    if (terms.ahead == 0) return error("[rounds] ahead must be 1 or more with rollbacks");
    if (terms.max_age != 0) return error("[rounds] max_age must be 0 with rollbacks");
    if (terms.ahead * terms.members > market::kUndoneMax)
        return error("[rounds] ahead and members must have a product of at most " + std::to_string(market::kUndoneMax) +
                     ": a rollback reads so many messages");
    if (terms.ahead + terms.absence_limit > terms.keep_rounds)
        return error("[rounds] ahead and absence_limit must together be at most keep_rounds");
    const std::uint64_t least = std::uint64_t{4} * terms.rollbacks * terms.ahead;
    if (terms.rounds < least)
        return error("[rounds] rounds must be at least 4 times rollbacks times ahead, " + std::to_string(least) +
                     ", so that three quarters of them are in the model");
    return Unit{};
}

Status<> check_masks(const GroupTerms& terms, std::uint32_t least, std::uint64_t catch_up_max,
                     const kernels::GroupPlan& plan) {
    if (plan.has_masks() != (terms.mask_bits != 0))
        return error("[rounds] mask_bits is for a plan with masks, and such a plan needs it; compile the task anew");
    if (terms.mask_bits == 0) return Unit{};
    if (terms.members < market::kCohortMin || terms.members > market::kMaskedMembersMax)
        return error("[rounds] members must be from 3 to " + std::to_string(market::kMaskedMembersMax) + " with masks");
    if (least < market::kCohortMin) return error("[rounds] least_members must be 3 or more with masks");
    if (terms.max_age != 0) return error("[rounds] max_age must be 0 with masks");
    if (terms.rollbacks != 0) return error("[rounds] rollbacks must be 0 with masks: no message can leave a sum");
    if (terms.private_data)
        return error("[rounds] private data and masks do not go together yet: an audited state would show the update");
    if (terms.mask_blocks == 0 || 4 * terms.mask_blocks + 3 >= terms.round_blocks)
        return error("[rounds] mask_blocks must be 1 or more, and 4 times mask_blocks + 3 below round_blocks");
    if (catch_up_max < terms.members + kernels::kMaskRowsMax)
        return error("[rounds] catch_up_max must be at least members + " + std::to_string(kernels::kMaskRowsMax) +
                     " with masks");
    return Unit{};
}

/// Rounds of training alternate on the ledger with those of merged messages (contracts 21.20).
Status<> set_regions(const GroupTerms& terms, market::GroupSpec& out) {
    if (terms.regions == 0) return Unit{};
    if (terms.regions < 2 || 2 * terms.regions > terms.members)
        return error("[rounds] regions must be 2 or more, of at least two members each");
    if (terms.max_age != 0 || terms.rollbacks != 0 || terms.private_data || terms.mask_bits != 0)
        return error("[rounds] regions are for a task without max_age, rollbacks, private data, and masks");
    if (2 * terms.rounds > market::kRoundsMax)
        return error("[rounds] with regions there are at most " + std::to_string(market::kRoundsMax / 2) + " rounds");
    if (2 * terms.absence_limit >= terms.keep_rounds)
        return error("[rounds] with regions keep_rounds must be over twice absence_limit: each round counts twice");
    out.rounds = static_cast<std::uint32_t>(2 * terms.rounds);
    out.regions = static_cast<std::uint8_t>(terms.regions);
    out.merge_blocks = terms.merge_blocks;
    return Unit{};
}

/// Whether the tensor is named after another one, as moments are: NAME.m of NAME.
bool is_moment(const kernels::Program& train, const std::string& name) {
    return std::any_of(train.tensors.begin(), train.tensors.begin() + train.states, [&](const auto& other) {
        return name.size() > other.name.size() && name.starts_with(other.name + ".");
    });
}

}  // namespace

Result<kernels::GroupPlan> read_plan(const GroupTerms& terms) {
    const auto file = read_file(terms.plan, kPlanBytesMax);
    if (!file) return error(file.error().message);
    auto plan = kernels::decode_plan(*file);
    if (!plan) return error(terms.plan.string() + ": " + plan.error().message);
    if (plan->find(kernels::Phase::init) == nullptr) return error(terms.plan.string() + ": it has no phase init");
    if (plan->has_regions() != (terms.regions != 0))
        return error(terms.plan.string() + ": a plan " + (terms.regions != 0 ? "without" : "with") +
                     " phases that merge messages, and the task names " + std::to_string(terms.regions) + " regions");
    if (plan->steps_max < terms.inner)
        return error(terms.plan.string() + ": it allows " + std::to_string(plan->steps_max) + " inner steps, and the " +
                     "task names " + std::to_string(terms.inner));
    return plan;
}

std::vector<market::PhaseRoot> phase_roots(const kernels::PlanHeader& header) {
    std::vector<market::PhaseRoot> out;
    for (const kernels::PlanHeader::PhaseRoot& phase : header.phases)
        out.push_back({static_cast<std::uint8_t>(phase.phase), phase.member_seed, phase.program});
    return out;
}

Result<market::GroupSpec> group_spec_of(const GroupTerms& terms, const kernels::GroupPlan& plan) {
    if (plan.steps_max != terms.inner)
        return error("[rounds] inner must be " + std::to_string(plan.steps_max) + " on the market, as in the plan");
    const std::uint32_t fewest = terms.mask_bits != 0 ? market::kCohortMin : 2;
    const std::uint32_t least = terms.least.value_or(std::max<std::uint32_t>(fewest, (terms.members + 1) / 2));
    // A member whose inner steps are max_age rounds old may stay away absence_limit rounds more.
    // A message brings its own mask, and in the worst record those of pairs with members that were not recorded.
    const std::uint64_t of_round = terms.mask_bits != 0 ? 2 * terms.members : terms.members;
    std::uint64_t missed = times(std::uint64_t{terms.absence_limit} + terms.max_age + 1, of_round);
    if (terms.mask_bits != 0) missed = std::max<std::uint64_t>(missed, terms.members + kernels::kMaskRowsMax);
    const std::uint64_t catch_up_max = terms.catch_up_max.value_or(std::min(missed, kernels::kPositionsMax));
    RETRACE_CHECK(check_counts(terms, least, catch_up_max));
    RETRACE_CHECK(check_rollbacks(terms));
    RETRACE_CHECK(check_masks(terms, least, catch_up_max, plan));
    const kernels::PlanHeader header = kernels::header_of(plan);
    market::GroupSpec out;
    out.rounds = static_cast<std::uint32_t>(terms.rounds);
    out.steps_max = header.steps_max;
    out.shared = header.shared;
    out.public_tensors = header.public_tensors;
    out.phases = phase_roots(header);
    out.least = static_cast<std::uint8_t>(least);
    out.round_blocks = terms.round_blocks;
    out.grace_blocks = terms.grace_blocks;
    out.fetch_blocks = terms.fetch_blocks;
    out.reveal_blocks = terms.reveal_blocks;
    out.absence_limit = terms.absence_limit;
    out.keep_rounds = terms.keep_rounds;
    out.catch_up_max = static_cast<std::uint32_t>(catch_up_max);
    out.max_age = terms.max_age;
    out.mask_bits = terms.mask_bits;
    out.mask_blocks = terms.mask_blocks;
    out.rollbacks = terms.rollbacks;
    out.ahead = terms.ahead;
    RETRACE_CHECK(set_regions(terms, out));
    if (!terms.private_data) return out;
    const std::uint32_t sets = plan.at(kernels::Phase::inner).program.datasets;
    if (sets == 0 || sets > market::kPrivateSetsMax)
        return error("[rounds] private is for a training on 1 to " + std::to_string(market::kPrivateSetsMax) +
                     " data sets, and this one has " + std::to_string(sets));
    if (2 * (terms.rounds + 1) > market::kSegmentsMax)
        return error("[rounds] private trainings have at most " + std::to_string(market::kSegmentsMax / 2 - 1) +
                     " rounds");
    out.private_sets = static_cast<std::uint8_t>(sets);
    return out;
}

ledger::U256 rollback_stake_of(const TaskFile& task) {
    if (!task.group) return {};
    market::TaskSpec spec;
    spec.price_ceiling = task.price_ceiling;
    spec.replicas = static_cast<std::uint8_t>(task.group->members);
    market::GroupSpec terms;
    terms.rollbacks = task.group->rollbacks;
    terms.ahead = task.group->ahead;
    return market::rollback_stake(spec, terms);
}

std::uint64_t segment_cost(const kernels::GroupPlan& plan, std::uint32_t members) {
    std::uint64_t sum = 0;
    for (const kernels::PhaseProgram& phase : plan.phases) {
        const bool starts = phase.phase == kernels::Phase::init || phase.phase == kernels::Phase::enter;
        // A segment that merges costs less than one that trains.
        if (starts || phase.phase == kernels::Phase::restore || phase.phase >= kernels::Phase::merge_begin) continue;
        const bool of_members = phase.phase == kernels::Phase::add || phase.phase >= kernels::Phase::unmask;
        const std::uint64_t count = of_members ? members : phase.phase == kernels::Phase::inner ? plan.steps_max : 1;
        const std::uint64_t cost = times(kernels::step_cost(phase.program), count);
        sum = cost > kMost - sum ? kMost : sum + cost;
    }
    return sum;
}

CompiledFacts facts_of(const kernels::Program& program) {
    return {kernels::step_cost(program), 0, kernels::contract_hash()};
}

CompiledFacts facts_of(const kernels::GroupPlan& plan) {
    const std::uint64_t alone = segment_cost(plan, 0);
    return {alone, segment_cost(plan, 1) - alone, kernels::contract_hash()};
}

Result<kernels::State> model_state(const kernels::Program& of_plan, const kernels::State& state,
                                   const kernels::Program& wanted, std::uint64_t step) {
    kernels::State out;
    out.step = step;
    for (std::uint32_t t = 0; t < wanted.states; ++t) {
        const kernels::TensorRecord& record = wanted.tensors[t];
        for (std::uint32_t k = 0; k < of_plan.states && out.tensors.size() == t; ++k) {
            const kernels::TensorRecord& there = of_plan.tensors[k];
            if (there.name == record.name && there.dtype == record.dtype && there.dims == record.dims)
                out.tensors.push_back(state.tensors[k]);
        }
        if (out.tensors.size() == t && is_moment(wanted, record.name))
            out.tensors.push_back(kernels::zeros(record.dtype, record.dims));
        if (out.tensors.size() == t)
            return error("the plan has no tensor " + record.name + " of the program; compile the task anew");
    }
    return out;
}

}  // namespace retrace::node
