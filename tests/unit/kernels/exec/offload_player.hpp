// SPDX-License-Identifier: MIT
// Plays a plan of offloading with numbers in place of values, transfers and units in any order that the plan allows, and
// each of them in two halves, so that what runs beside it is seen. It shares no code with check_offload.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "kernels/exec/offload_plan.hpp"

namespace retrace::kernels::testing {

struct OffloadedProgram {
    const Program& program;
    const MemoryPlan& plan;
    std::uint64_t alignment = 4096;
};

/// Asked where both a transfer and a unit may go on; returns whether the transfer does.
using TransferFirst = std::function<bool()>;

/// Returns what went wrong: a unit that read another value than the program says, memory outside the room or the store, a
/// state that was lost, a step that never ends; nullopt for a step whose next state is right.
std::optional<std::string> play(const OffloadedProgram& of, const OffloadPlan& offload, const TransferFirst& first);

}  // namespace retrace::kernels::testing
