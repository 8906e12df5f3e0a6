// SPDX-License-Identifier: MIT
// Memory that a party's recomputation of one step takes in a dispute besides the arena, known before anything runs.
#pragma once

#include "kernels/program/program.hpp"

namespace retrace::kernels {

std::uint64_t state_bytes(const Program& program);
/// Bytes for the op that needs most: copies of its output and of those inputs that are constants or op outputs, as
/// Executor::outputs returns them, and the tile trees of all of them (a tile of 1024 elements may hold one row of one
/// element). Partial tiles of its chains, 60 to 90 at most, are not counted.
std::uint64_t move_memory_bytes(const Program& program);

}  // namespace retrace::kernels
