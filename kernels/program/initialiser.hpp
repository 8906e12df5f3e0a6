// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/program/program.hpp"
#include "merkle/base/result.hpp"

namespace retrace::kernels {

/// Checks that `init` makes the states of `program`: same shapes, every state tensor written, no state tensor and no
/// data set read. Both have passed `check`.
Status<> check_initialiser(const Program& init, const Program& program);

}  // namespace retrace::kernels
