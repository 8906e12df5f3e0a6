// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace retrace::solver {

/// One element that the ledger asks for: of the state after `round`, which is round + 1 products from the first state.
struct CapabilityDraw {
    std::uint64_t round = 0;
    std::uint32_t row = 0, column = 0;
    bool operator==(const CapabilityDraw&) const = default;
};

}  // namespace retrace::solver
