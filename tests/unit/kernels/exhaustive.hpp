// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>

namespace retrace::kernels {

/// Whether tests go through all inputs, which takes minutes each (label slow).
inline bool exhaustive() { return std::getenv("RETRACE_EXHAUSTIVE") != nullptr; }

}  // namespace retrace::kernels
