// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "tests/fuzz/driver/random.hpp"

namespace retrace::fuzz {

inline constexpr std::size_t kInputMax = 64 * 1024;

/// Returns a member of `corpus` with one to eight mutations: bits, bytes, edge numbers, and ranges removed, doubled,
/// inserted or exchanged with another member. The result has at most kInputMax bytes. `corpus` must not be empty.
Bytes mutate(const std::vector<Bytes>& corpus, Random& random);

}  // namespace retrace::fuzz
