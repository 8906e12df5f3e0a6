// SPDX-License-Identifier: MIT
#include "kernels/exec/fused_runs.hpp"
#include "kernels/exec/plan_check.hpp"
#include "kernels/ops/opcode.hpp"

namespace retrace::kernels {
namespace {

Status<> check_row_run(const Program& program, const MemoryPlan& plan, const PlanUnit& unit, std::uint64_t row_bytes) {
    const auto wrong = [](std::uint32_t op, std::string_view what) {
        return error("plan of op " + std::to_string(op) + ": " + std::string(what));
    };
    const FusedRun& fused_run = plan.fused_runs[unit.fused_run];
    if (fused_run.chunk != 1 || fused_run.bytes > row_bytes)
        return wrong(unit.first, "a row-wise run takes more than one row or too much memory at a time");
    if (fused_run.units.size() != unit.count) return wrong(unit.first, "a unit of a row-wise run has more than one op");
    for (std::uint32_t op = unit.first; op < unit.end(); ++op) {
        const BufferLocation::Where where = plan.places[op].where;
        if (where == BufferLocation::Where::alias) continue;
        if (where == BufferLocation::Where::scratch) return wrong(op, "a row-wise run uses a scratch slot");
        if (program.ops[op].code == OpCode::matmul) return wrong(op, "a row-wise run contains a product");
        if (geometry(program.tensors[program.output_of(op)].dims).rows != fused_run.parts &&
            !goes_by_parts(program, op, fused_run.parts))
            return wrong(op, "its output has another number of rows than the row-wise run");
    }
    return retrace::Unit{};
}

}  // namespace

Status<> check_row_runs(const Program& program, const MemoryPlan& plan, std::uint64_t row_bytes) {
    RETRACE_CHECK(check_plan(program, plan, true));
    for (const PlanUnit& unit : plan.units)
        if (unit.fused_run != kNoFusedRun) RETRACE_CHECK(check_row_run(program, plan, unit, row_bytes));
    return retrace::Unit{};
}

}  // namespace retrace::kernels
