// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "tests/fuzz/driver/random.hpp"

namespace retrace::fuzz {

inline constexpr std::size_t kInputMax = 64 * 1024;

/// One of `corpus`, damaged in one to eight places: bits, bytes, numbers at edges, runs removed, doubled, inserted,
/// exchanged with another member. At most kInputMax bytes. `corpus` is not empty.
Bytes mutate(const std::vector<Bytes>& corpus, Random& random);

}  // namespace retrace::fuzz
