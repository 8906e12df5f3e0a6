// SPDX-License-Identifier: MIT
// A tile of a chain op's output part of the way, for a dispute's search between its links.
#pragma once

#include <array>

#include "kernels/ops/op_call.hpp"

namespace retrace::kernels {

/// By place in the tile: the bits that `evaluate` carries, zeros in the padding.
using PartialTile = std::array<std::uint32_t, 1024>;

/// Takes the values of tile `tile` from after `first` links (0: nothing is read) to after `end`, below the
/// op's number of links. `call` names op and inputs; it has no output. Takes about the time that the op takes
/// for so much of this tile, whatever the values are.
void advance_partial(const OpCall& call, std::uint64_t tile, std::uint64_t first, std::uint64_t end,
                     PartialTile& carried);

}  // namespace retrace::kernels
