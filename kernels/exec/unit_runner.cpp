// SPDX-License-Identifier: MIT
#include "kernels/exec/unit_runner.hpp"

#include <algorithm>

#include "kernels/ops/op.hpp"
#include "kernels/ops/op_call.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint32_t kNoGroup = 0xffffffff;

std::uint64_t bytes_of(const OpFacts::Operand& operand) {
    return geometry(operand.dims).elements() * size_of(operand.dtype);
}

/// Scratch bytes of the CPU kernels besides their operands; that of products is bounded by a constant and not counted.
std::uint64_t scratch_of(const OpFacts& facts) {
    if (facts.op.code == OpCode::window_scatter) return bytes_of(facts.inputs[0]) + bytes_of(facts.output);
    if (facts.op.code == OpCode::scatter_add_rows) return bytes_of(facts.inputs[1]);
    return 0;
}

}  // namespace

UnitRunner::UnitRunner(const Program& program, bool reference, const PlanOptions& options)
    : program_(program), plan_(plan_memory(program, options)) {
    for (std::uint32_t i = 0; i < program.ops.size(); ++i) {
        facts_.push_back(facts_of(program, i));
        kernels_.push_back(reference ? nullptr : find_cpu_kernel(facts_.back()));
        scratch_ = std::max(scratch_, scratch_of(facts_.back()));
    }
    group_.assign(plan_.units.size(), kNoGroup);
    if (options.isolated) return;
    for (std::size_t i = 0; i < plan_.units.size(); ++i) {
        const PlanUnit& unit = plan_.units[i];
        if (unit.fused_run != kNoFusedRun) {
            fused_runs_.emplace_back(program, facts_, kernels_, plan_, unit);
        } else if (is_elementwise(program.ops[unit.first].code)) {
            group_[i] = static_cast<std::uint32_t>(groups_.size());
            groups_.emplace_back(program, std::span(facts_).subspan(unit.first, unit.count), plan_, unit);
        }
    }
}

bool UnitRunner::is_gathered(std::uint32_t tensor) const {
    return program_.is_op_output(tensor) &&
           plan_.places[tensor - program_.tensors_static()].where == BufferLocation::Where::gathered;
}

void UnitRunner::run(std::uint32_t number, const Addresses& at, const Step& step) const {
    const PlanUnit& unit = plan_.units[number];
    if (unit.fused_run != kNoFusedRun) {
        fused_runs_[unit.fused_run].run(at, step.own, step.pool);
    } else if (group_[number] != kNoGroup) {
        groups_[group_[number]].run(at, step.pool);
    } else if (plan_.places[unit.first].where != BufferLocation::Where::alias) {
        run_op(unit.first, at, step);
    }
}

void UnitRunner::run_op(std::uint32_t op, const Addresses& at, const Step& step) const {
    const std::uint32_t made = program_.output_of(op);
    // A tensor without elements costs nothing, whatever its other extents are.
    if (is_gathered(made) || geometry(program_.tensors[made].dims).elements() == 0) return;
    std::vector<const std::uint8_t*> operands;
    std::vector<const OpFacts*> gathers;
    for (const std::uint32_t input : program_.ops[op].inputs) {
        operands.push_back(at[input]);
        gathers.push_back(is_gathered(input) ? &facts_[input - program_.tensors_static()] : nullptr);
    }
    // The const_cast is allowed: the planner assigned this memory to the output; it belongs to the arena or to the
    // caller's mutable state.
    auto* output = const_cast<std::uint8_t*>(at[made]);
    const OpCall call{facts_[op], operands, output, step.seed, step.number, step.pool, gathers};
    kernels_[op] != nullptr ? kernels_[op](call) : run_reference(call);
}

}  // namespace retrace::kernels
