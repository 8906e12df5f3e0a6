// SPDX-License-Identifier: MIT
// Whether a memory plan computes what its program says. The planner is clever and may be wrong; this is
// plain: it follows what every piece of memory holds, and asks of each read whether it holds what is read.
#pragma once

#include "kernels/exec/plan.hpp"
#include "merkle/base/result.hpp"

namespace retrace::kernels {

/// The error names the op and what is wrong. Whatever runs the units in order, the chunks of a band and the
/// elements of an op in any order or at once, and copies next states in order when all is done, computes
/// right by a sound plan.
Status<> check_plan(const Program& program, const MemoryPlan& plan);
/// And by an executor whose bands go row by row, op after op (PlanOptions::row_bytes).
Status<> check_row_bands(const Program& program, const MemoryPlan& plan, std::uint64_t row_bytes);

}  // namespace retrace::kernels
