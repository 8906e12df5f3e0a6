// SPDX-License-Identifier: MIT
// Checks whether a task can be computed, audited and disputed in the time that its market allows, at this machine's
// measured speed.
#pragma once

#include "kernels/program/program.hpp"
#include "solver/chain_view.hpp"

namespace retrace::solver {

/// The error says which work would take too long, with the numbers. `init` is null where the first state is given by
/// its root. With `on_device` a device, whose speed is not measured, computes the steps of `program`. `disk_cost`:
/// multiply-adds in the time that the transfers of one step from and to a disk take.
Status<> check_pace(const RunView& run, const kernels::Program& program, const kernels::Program* init, bool on_device,
                    std::uint64_t disk_cost = 0);

}  // namespace retrace::solver
