// SPDX-License-Identifier: MIT
#include "kernels/exec/plan_check.hpp"
#include "kernels/ops/opcode.hpp"

namespace retrace::kernels {
namespace {

Status<> check_row_run(const Program& program, const MemoryPlan& plan, const PlanStep& unit, std::uint64_t row_bytes) {
    const auto wrong = [](std::uint32_t op, std::string_view what) {
        return error("plan of op " + std::to_string(op) + ": " + std::string(what));
    };
    const FusedRun& fused_run = plan.fused_runs[unit.fused_run];
    if (fused_run.chunk != 1 || fused_run.bytes > row_bytes) return wrong(unit.first, "more than a row at a time");
    if (fused_run.steps.size() != unit.count) return wrong(unit.first, "more than an op at a time");
    for (std::uint32_t op = unit.first; op < unit.end(); ++op) {
        const BufferLocation::Where where = plan.places[op].where;
        if (where == BufferLocation::Where::alias) continue;
        if (where == BufferLocation::Where::scratch) return wrong(op, "rows have no slots");
        if (program.ops[op].code == OpCode::matmul) return wrong(op, "a product is no row");
        if (geometry(program.tensors[program.output_of(op)].dims).rows != fused_run.parts)
            return wrong(op, "another number of rows");
    }
    return retrace::Unit{};
}

}  // namespace

Status<> check_row_runs(const Program& program, const MemoryPlan& plan, std::uint64_t row_bytes) {
    RETRACE_CHECK(check_plan(program, plan));
    for (const PlanStep& unit : plan.units)
        if (unit.fused_run != kNoFusedRun) RETRACE_CHECK(check_row_run(program, plan, unit, row_bytes));
    return retrace::Unit{};
}

}  // namespace retrace::kernels
