// SPDX-License-Identifier: MIT
// The AMX kernel over the unit itself, and over the unit used wrongly in one way each: what a comparison with
// the reference must see.
#pragma once

#include "kernels/matmul/engine.hpp"

namespace retrace::kernels {

struct TilesCase {
    const char* name = nullptr;
    bool right = false;
    const MatmulKernel* (*kernel)(Precision precision) = nullptr;
};

inline constexpr int kTilesCases = 6;
extern const TilesCase tiles_cases[kTilesCases];

}  // namespace retrace::kernels
