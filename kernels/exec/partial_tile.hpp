// SPDX-License-Identifier: MIT
// A partially computed tile of a chain op's output, for a dispute's search between its links.
#pragma once

#include <array>

#include "kernels/ops/op_call.hpp"

namespace retrace::kernels {

/// The bits that `evaluate` carries, by place in the tile; zeros in the padding.
using PartialTile = std::array<std::uint32_t, 1024>;

/// Advances the values of tile `tile` from the state after `first` links (0: `carried` is not read) to the state after
/// `end` links, which must be less than the op's number of links. `call` gives op and inputs; it has no output. Takes
/// about the time that the op takes for these links of this tile, independent of the values.
void advance_partial(const OpCall& call, std::uint64_t tile, std::uint64_t first, std::uint64_t end,
                     PartialTile& carried);

}  // namespace retrace::kernels
