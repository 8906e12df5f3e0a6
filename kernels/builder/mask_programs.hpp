// SPDX-License-Identifier: MIT
// The programs of `mask` and `unmask` alone, from the state tensors of a plan, so that whoever is given a plan compares
// its programs with them. plan/SPEC.md 4.8.
#pragma once

#include "kernels/builder/graph.hpp"

namespace retrace::kernels {

/// The names of the state tensors of a message under masks, and of the sum of a record.
inline constexpr const char *kMaskedMessageName = "rounds.masked", *kMaskedTotalName = "rounds.sum";

struct MaskPrograms {
    Program mask, unmask;
};

/// `states`: any program of a plan for messages of values of `bits` bits, 2 to 27. Errors: bits out of range; no tensors of
/// a message and of a sum, both i32 [n, 32].
Result<MaskPrograms> build_mask_programs(const Program& states, std::uint32_t bits);

}  // namespace retrace::kernels
