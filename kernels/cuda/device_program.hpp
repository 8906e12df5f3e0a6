// SPDX-License-Identifier: MIT
// The program that a device runs instead of a given one, and the memory that it takes; computed without a device.
#pragma once

#include "kernels/exec/plan.hpp"
#include "kernels/ops/element.hpp"

namespace retrace::kernels::cuda {

/// Returns the program that a step on a device runs instead of `program`, with the same states and metrics to the bit:
/// the fastest of several rewritings whose block of memory takes at most `room` bytes, or else the one that takes the
/// least memory (decisions/010).
Program for_device(const Program& program, std::uint64_t room = 0);
/// For the program that runs, that is, the result of for_device:
std::vector<OpFacts> facts_of_ops(const Program& program);
MemoryPlan plan_for_device(const Program& program);
/// Returns the least DeviceExecutor::device_bytes. `program` must have passed `check`.
std::uint64_t device_bytes(const Program& program);

}  // namespace retrace::kernels::cuda
