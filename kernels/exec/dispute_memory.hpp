// SPDX-License-Identifier: MIT
// What a party's own account of one step takes in a dispute beside the arena, known before anything is run.
#pragma once

#include "kernels/program/program.hpp"

namespace retrace::kernels {

std::uint64_t state_bytes(const Program& program);
/// Of the op that needs most: copies of its output and of its inputs that are constants or that ops made, as
/// Executor::outputs hands them out, and the tile trees of all of them (a tile of 1024 elements may hold one row of one
/// element). Partial tiles of its chains, 60 to 90 at most, are not counted.
std::uint64_t evidence_bytes(const Program& program);

}  // namespace retrace::kernels
