// SPDX-License-Identifier: MIT
// What a device runs in a program's place, and what it takes there: known without a device.
#pragma once

#include "kernels/exec/plan.hpp"
#include "kernels/ops/element.hpp"

namespace retrace::kernels::cuda {

/// What a step on a device runs in the place of `program`: the same states and metrics to the bit. Of some rewritings
/// the one that takes the least memory (decisions/010).
Program for_device(const Program& program);
/// Of what runs, not of what it stands for:
std::vector<OpFacts> facts_of_ops(const Program& program);
MemoryPlan plan_for_device(const Program& program);
/// DeviceExecutor::device_bytes. `program` passed `check`.
std::uint64_t device_bytes(const Program& program);

}  // namespace retrace::kernels::cuda
