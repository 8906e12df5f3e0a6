// SPDX-License-Identifier: MIT
// The ways in which this machine's CPU can compute a program.
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

/// Returns the element rules, then every level of this machine (or the one that RETRACE_CPU names), each on one thread
/// and on three. Like cpu_level(), ends the process if RETRACE_CPU names no level of this machine.
std::vector<CpuBackend> cpu_backends();

/// Returns an empty string if the case's program (program_of) computes the case's output on `backend`, else a
/// description of the difference. Each call runs in its own process, because a process chooses its instruction set
/// once; so the caller must have no other threads.
std::string difference_on(const CpuBackend& backend, const Program& program, const KnownAnswer& known);

}  // namespace retrace::kernels::tools
