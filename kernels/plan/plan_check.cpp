// SPDX-License-Identifier: MIT
// What a plan has to keep to, so that honest members with one base have equal shared tensors, and no message stops
// anybody. SPEC 1.3.
#include <algorithm>
#include <string_view>

#include "kernels/plan/group_plan.hpp"
#include "kernels/plan/mask_table.hpp"

namespace retrace::kernels {
namespace {

using Tensors = std::vector<bool>;  // by number

constexpr std::string_view kNames[] = {"",     "init",        "enter",     "begin",       "add",
                                       "end",  "inner",       "restore",   "press",       "unmask",
                                       "mask", "merge_begin", "merge_add", "merge_press", "merge_restore"};
constexpr Phase kMergePhases[] = {Phase::merge_begin, Phase::merge_add, Phase::merge_press, Phase::merge_restore};

std::string name_of(Phase phase) { return "plan: " + std::string(kNames[static_cast<std::size_t>(phase)]); }

std::string tensor_text(const Program& program, std::uint32_t tensor) {
    return "tensor " + std::to_string(tensor) + " (" + program.tensors[tensor].name + ")";
}

/// Kind, dtype, extents and name; programs differ in which op writes a tensor.
bool is_same_state(const TensorRecord& a, const TensorRecord& b) {
    return a.kind == b.kind && a.dtype == b.dtype && a.dims == b.dims && a.name == b.name;
}

bool writes(const Program& program, std::uint32_t state) { return program.tensors[state].writer != kNoWriter; }

/// The first tensor whose next value reads a state tensor outside `allowed` or a data set, among those of `written`.
std::optional<std::uint32_t> first_dependent(const Program& program, const Tensors& written, const Tensors& allowed,
                                             bool data_allowed) {
    Tensors clean(program.tensors.size(), true);
    for (std::uint32_t t = 0; t < program.states; ++t) clean[t] = allowed[t];
    const std::uint32_t data = program.states + program.constants;
    for (std::uint32_t t = data; t < program.tensors_static(); ++t) clean[t] = data_allowed;
    for (std::uint32_t op = 0; op < program.ops.size(); ++op)
        for (const std::uint32_t input : program.ops[op].inputs)
            if (!clean[input]) clean[program.output_of(op)] = false;
    for (std::uint32_t t = 0; t < program.states; ++t)
        if (written[t] && writes(program, t) && !clean[program.output_of(program.tensors[t].writer)]) return t;
    return std::nullopt;
}

bool reads_state(const Program& program) {
    return std::ranges::any_of(program.ops, [&](const OpRecord& op) {
        return std::ranges::any_of(op.inputs, [&](std::uint32_t input) { return input < program.states; });
    });
}

Status<> check_order(const GroupPlan& plan) {
    for (std::size_t i = 1; i < plan.phases.size(); ++i)
        if (plan.phases[i - 1].phase >= plan.phases[i].phase) return error("plan: the phases do not ascend");
    for (const Phase phase :
         {Phase::enter, Phase::begin, Phase::add, Phase::end, Phase::inner, Phase::restore, Phase::press})
        if (plan.find(phase) == nullptr) return error(name_of(phase) + " is missing");
    if ((plan.find(Phase::unmask) != nullptr) != (plan.find(Phase::mask) != nullptr))
        return error("plan: unmask and mask belong together");
    const bool merges = plan.phases.back().phase >= Phase::merge_begin;
    for (const Phase phase : kMergePhases)
        if (merges && plan.find(phase) == nullptr) return error(name_of(phase) + " is missing");
    if (merges && plan.has_masks()) return error("plan: messages under masks are not merged in regions");
    for (const PhaseProgram& phase : plan.phases)
        if (phase.member_seed && is_common(phase.phase))
            return error(name_of(phase.phase) + " may not follow the member's seed");
    return Unit{};
}

Status<> check_states(const GroupPlan& plan) {
    const Program& first = plan.phases.front().program;
    for (const PhaseProgram& phase : plan.phases) {
        const Program& program = phase.program;
        if (program.states != first.states) return error(name_of(phase.phase) + " has other state tensors");
        for (std::uint32_t t = 0; t < first.states; ++t)
            if (!is_same_state(program.tensors[t], first.tensors[t]))
                return error(name_of(phase.phase) + ": another " + tensor_text(first, t));
    }
    if (plan.shared == 0 || plan.shared >= first.states) return error("plan: the number of shared tensors is wrong");
    if (plan.public_tensors.empty()) return error("plan: a message has no tensors");
    std::uint32_t least = plan.shared;
    for (const std::uint32_t t : plan.public_tensors) {
        if (t < least || t >= first.states)
            return error("plan: the public tensors do not ascend after the shared ones");
        least = t + 1;
        const DType dtype = first.tensors[t].dtype;
        if (dtype != DType::f32 && dtype != DType::i32)
            return error("plan: public " + tensor_text(first, t) + " is neither fp32 nor int32");
    }
    return Unit{};
}

Status<> check_datasets(const PhaseProgram& phase, const std::vector<TensorRecord>& wanted) {
    const Program& program = phase.program;
    const std::uint32_t from = program.states + program.constants;
    bool same = program.datasets == wanted.size();
    for (std::uint32_t i = 0; same && i < wanted.size(); ++i) {
        const TensorRecord& given = program.tensors[from + i];
        same = given.dtype == wanted[i].dtype && given.dims == wanted[i].dims;
    }
    if (!same) return error(name_of(phase.phase) + " has other data sets than the plan gives it");
    return Unit{};
}

Status<> check_inputs(const GroupPlan& plan) {
    const Program& first = plan.phases.front().program;
    std::vector<TensorRecord> shared(first.tensors.begin(), first.tensors.begin() + plan.shared), message;
    for (const std::uint32_t t : plan.public_tensors) message.push_back(first.tensors[t]);
    const TensorRecord facts{TensorKind::data, DType::i32, kFactDims, kNoWriter, ""};
    const std::vector<TensorRecord> masks{{TensorKind::data, DType::i32, kMaskTableDims, kNoWriter, ""}, facts};
    message.push_back(facts);
    for (const PhaseProgram& phase : plan.phases) {
        if (phase.phase == Phase::inner) continue;  // It reads the task's data.
        const bool takes_message = takes_messages(phase.phase);
        const bool takes_mask = phase.phase == Phase::unmask || phase.phase == Phase::mask;
        RETRACE_CHECK(check_datasets(phase, phase.phase == Phase::enter ? shared
                                            : takes_message             ? message
                                            : takes_mask                ? masks
                                                                        : std::vector<TensorRecord>{}));
        if (phase.phase > Phase::enter) continue;
        for (std::uint32_t t = 0; t < first.states; ++t)
            if (!writes(phase.program, t))
                return error(name_of(phase.phase) + " does not write " + tensor_text(first, t));
        if (reads_state(phase.program)) return error(name_of(phase.phase) + " reads a state tensor");
    }
    return Unit{};
}

/// `end` may clear a message under masks, so that the last state has nothing that follows from them.
bool may_write_message(const GroupPlan& plan, Phase phase) {
    return phase <= Phase::enter || phase == Phase::press || phase == Phase::mask || phase == Phase::merge_press ||
           (phase == Phase::end && plan.has_masks());
}

/// Shared tensors follow from the rounds alone: from themselves, the messages, and what `begin` makes of them.
Status<> check_shared(const GroupPlan& plan) {
    const Program& begin = *plan.find(Phase::begin);
    const Tensors all(begin.states, true);
    Tensors common(begin.states, false);
    std::fill(common.begin(), common.begin() + plan.shared, true);
    if (const auto t = first_dependent(begin, all, common, false))
        return error(name_of(Phase::begin) + ": " + tensor_text(begin, *t) + " follows from tensors of one member");
    for (std::uint32_t t = 0; t < begin.states; ++t) common[t] = common[t] || writes(begin, t);
    for (const Phase phase : {Phase::add, Phase::unmask, Phase::end}) {
        if (plan.find(phase) == nullptr) continue;
        const Program& program = *plan.find(phase);
        if (const auto t = first_dependent(program, all, common, true))
            return error(name_of(phase) + ": " + tensor_text(program, *t) + " follows from tensors of one member");
        for (std::uint32_t t = 0; phase != Phase::end && t < program.states; ++t)
            if (writes(program, t) && !common[t])
                return error(name_of(phase) + " writes " + tensor_text(program, t) + ", which begin does not");
    }
    for (const PhaseProgram& phase : plan.phases) {
        for (std::uint32_t t = 0; t < begin.states; ++t) {
            if (!writes(phase.program, t)) continue;
            if (!is_common(phase.phase) && common[t])
                return error(name_of(phase.phase) + " writes " + tensor_text(begin, t) + ", which all members share");
            if (!may_write_message(plan, phase.phase) && std::ranges::binary_search(plan.public_tensors, t))
                return error(name_of(phase.phase) + " writes public " + tensor_text(begin, t));
        }
    }
    return Unit{};
}

}  // namespace

Status<> check(const GroupPlan& plan) {
    if (plan.steps_max == 0 || plan.steps_max > kInnerStepsMax) return error("plan: steps_max is not 1 to 65536");
    if (plan.phases.empty()) return error("plan: no phases");
    RETRACE_CHECK(check_order(plan));
    RETRACE_CHECK(check_states(plan));
    RETRACE_CHECK(check_inputs(plan));
    return check_shared(plan);
}

}  // namespace retrace::kernels
