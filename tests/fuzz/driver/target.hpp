// SPDX-License-Identifier: MIT
// Interface of a fuzz target: a file that defines these two functions. The driver is either libFuzzer (fuzz preset) or
// a bounded loop of seeded mutations (every other build).
#pragma once

#include <vector>

#include "merkle/base/bytes.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::fuzz {

/// Returns small valid inputs from which mutations start.
std::vector<Bytes> seeds();
/// Feeds `input` to the code under test. Aborts if a property does not hold; returns otherwise.
void run(View input);

/// Checks a property of the code under test. A failure prints its place, and the driver keeps the input.
inline void require(bool holds, const char* property, Place where = Place::here()) { ensure(holds, property, where); }

}  // namespace retrace::fuzz
