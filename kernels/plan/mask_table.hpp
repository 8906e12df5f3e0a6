// SPDX-License-Identifier: MIT
// The masks of a message, or of the sum of a record, as the phases `mask` and `unmask` read them. plan/SPEC.md 2.6.
#pragma once

#include "kernels/runtime/tensor.hpp"

namespace retrace::kernels {

/// The key stream of a seed: words of `chacha_bits` with the seed as its key.
struct MaskRow {
    Hash32 seed;         ///< Words of the key, little endian.
    bool added = false;  ///< Messages added the stream, else they subtracted it.
    bool operator==(const MaskRow&) const = default;
};
/// The sum of a record of 22 of 32 messages has 22 masks of these, and 22 · 10 of pairs with the others.
inline constexpr std::uint32_t kMaskRowsMax = 256;
inline const Dims kMaskTableDims{kMaskRowsMax, 9};

/// i32 [256, 9]: for each mask the words of its key, and 1 if it was added, else 0. Rows behind the last mask are 0.
/// Asserts that there are at most kMaskRowsMax.
Tensor mask_table(const std::vector<MaskRow>& rows);
/// The tensor root of mask_table.
Hash32 mask_table_root(const std::vector<MaskRow>& rows);

}  // namespace retrace::kernels
