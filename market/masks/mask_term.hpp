// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <tuple>
#include <vector>

#include "merkle/base/bytes.hpp"

namespace retrace::market {

/// A key of ChaCha20.
using MaskSeed = Hash32;

/// A mask in a message, or in the sum of the recorded messages.
struct MaskTerm {
    MaskSeed seed;
    bool added = false;  ///< The messages added it, else they subtracted it.
    bool operator==(const MaskTerm&) const = default;
    static auto tie(auto& t) { return std::tie(t.seed, t.added); }
    static std::vector<std::string_view> names() { return {"seed", "added"}; }
};

}  // namespace retrace::market
