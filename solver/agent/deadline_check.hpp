// SPDX-License-Identifier: MIT
// Whether a task can be audited and disputed in the time that its market gives, at this machine's measured speed.
#pragma once

#include "kernels/program/program.hpp"
#include "solver/chain_view.hpp"

namespace retrace::solver {

/// An error says what would take too long, with the numbers. `init`: null where the first state is named.
/// `on_device`: a device computes the steps of `program`, which nobody measured.
Status<> check_pace(const RunView& run, const kernels::Program& program, const kernels::Program* init,
                    bool on_device);

}  // namespace retrace::solver
