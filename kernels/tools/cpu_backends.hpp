// SPDX-License-Identifier: MIT
// The ways in which this machine's CPU computes a program.
#pragma once

#include <string>
#include <vector>

#include "kernels/exec/executor.hpp"
#include "kernels/runtime/dispatch.hpp"
#include "kernels/tools/known_answer.hpp"

namespace retrace::kernels::tools {

struct CpuBackend {
    Backend backend = Backend::reference;
    CpuLevel level = CpuLevel::scalar;
    unsigned threads = 1;

    /// "element rules", "avx2, 3 threads".
    std::string name() const;
};

/// The element rules, then every level of this machine, or the one that RETRACE_CPU names, on one thread and on three.
/// As cpu_level(), ends the process where RETRACE_CPU names none.
std::vector<CpuBackend> cpu_backends();

/// Empty where the case's program (program_of) gives the case's output there; else what is wrong. Each call is a
/// process of its own, because a process chooses its instruction set once; so the caller has no threads.
std::string difference_on(const CpuBackend& backend, const Program& program, const KnownAnswer& known);

}  // namespace retrace::kernels::tools
