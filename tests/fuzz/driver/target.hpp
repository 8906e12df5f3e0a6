// SPDX-License-Identifier: MIT
// What a fuzz target is: one file that defines these two functions. The driver is either libFuzzer (fuzz preset) or a
// bounded loop of seeded mutations (every other build).
#pragma once

#include <vector>

#include "merkle/base/bytes.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::fuzz {

/// Valid inputs, small ones: where mutations start from.
std::vector<Bytes> seeds();
/// Feeds `input` to the code under test. Aborts when a property does not hold; every other return is fine.
void run(View input);

/// A property of the code under test. A failure prints its place, and the driver keeps the input.
inline void require(bool holds, const char* property, Place where = Place::here()) {
    ensure(holds, property, where);
}

}  // namespace retrace::fuzz
