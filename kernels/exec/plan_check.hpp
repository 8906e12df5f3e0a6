// SPDX-License-Identifier: MIT
// Checks that a memory plan computes what its program specifies. The planner is complex and may have bugs; this check
// is simple: it tracks the contents of every piece of memory and checks that each read finds the value that it expects.
#pragma once

#include "kernels/exec/plan.hpp"
#include "merkle/base/result.hpp"

namespace retrace::kernels {

/// Checks a plan; the error names the op and the fault. A sound plan is correct for every executor that runs the units
/// in order, runs the chunks of a fused run and the elements of an op in any order or concurrently, and copies the next
/// states in order at the end. `rows` says that a fused run may contain ops that go by its parts (goes_by_parts).
Status<> check_plan(const Program& program, const MemoryPlan& plan, bool rows = false);
/// The same for an executor whose fused runs go row by row, op after op (PlanOptions::row_bytes).
Status<> check_row_runs(const Program& program, const MemoryPlan& plan, std::uint64_t row_bytes);

}  // namespace retrace::kernels
