// SPDX-License-Identifier: MIT
// Random programs of every op kind that pass the shape rules, with extents and data that no model would have: programs
// that a hostile requester could post. (random_programs.hpp makes deep ones of a few kinds.)
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/exec/executor.hpp"

namespace retrace::kernels::testing {

struct AnyProgram {
    Program program;
    State state;
    std::vector<Tensor> datasets;
    std::uint64_t seed = 0;

    Inputs inputs() const;
};

/// Deterministic for a seed. The program passes `check` and has 1 to 50 ops, each of at most 60,000 elements and 3
/// million multiply-adds.
AnyProgram any_program(std::uint64_t seed);

}  // namespace retrace::kernels::testing
