// SPDX-License-Identifier: MIT
// A known-answer case as a program, for back ends that run programs only.
#pragma once

#include <memory>
#include <optional>

#include "kernels/exec/executor.hpp"
#include "kernels/tools/known_answer.hpp"

namespace retrace::kernels::tools {

/// Returns a program whose data sets are the case's inputs and whose last op computes its output. Empty if the case has
/// no op (Philox blocks, for which the CPU has only one loop). Errors: an unknown function or precision, or an error of
/// `check`.
Result<std::optional<Program>> program_of(const KnownAnswer& known);
/// Returns the output words of such a program. On a device the back end computes them itself, because Executor::outputs
/// always runs on the host.
Words run_program(const Program& program, const KnownAnswer& known, Executor& executor);
Words run_program(const Program& program, const KnownAnswer& known, ExternalBackend& device);

}  // namespace retrace::kernels::tools
