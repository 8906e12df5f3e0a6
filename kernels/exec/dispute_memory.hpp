// SPDX-License-Identifier: MIT
// What a party's own account of one step takes in a dispute beside the arena, known before anything is run.
#pragma once

#include "kernels/program/program.hpp"

namespace retrace::kernels {

/// Of the op whose output and inputs together are the largest: copies of what ops made, as Executor::outputs hands
/// them out.
std::uint64_t evidence_bytes(const Program& program);

}  // namespace retrace::kernels
