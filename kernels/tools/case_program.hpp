// SPDX-License-Identifier: MIT
// A known-answer case as a program, for back ends that run programs only.
#pragma once

#include <memory>
#include <optional>

#include "kernels/exec/executor.hpp"
#include "kernels/tools/known_answer.hpp"

namespace retrace::kernels::tools {

/// A program whose data sets are the case's inputs and whose last op makes its output. Empty where the case
/// has no op of its own (blocks of Philox, of which a CPU has one loop). Errors: an unknown function or precision; what
/// `check` refuses.
Result<std::optional<Program>> program_of(const KnownAnswer& known);
/// The output words of such a program; on a device by the back end itself, as an Executor plays outputs on the host.
Words run_program(const Program& program, const KnownAnswer& known, Executor& executor);
Words run_program(const Program& program, const KnownAnswer& known, ExternalBackend& device);

}  // namespace retrace::kernels::tools
