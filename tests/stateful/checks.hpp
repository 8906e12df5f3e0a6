// SPDX-License-Identifier: MIT
// What must hold of all records together, beyond the contracts' own sums (contracts/lifecycle/invariants.hpp). SPEC 1.
#pragma once

#include <optional>
#include <string>

#include "tests/stateful/mirror.hpp"

namespace retrace::stateful {

/// Everything that is open has something scheduled that ends it, or waits for something that has. At
/// `height`.
std::optional<std::string> without_schedule(const Mirror& mirror, std::uint64_t height);
/// No list is longer than its bound, and nobody has more open than the rules allow.
std::optional<std::string> over_bound(const Mirror& mirror);
/// What is still open when everybody has been silent for longer than the longest window. Beacons open
/// capability challenges for ever: only one that is older than its windows counts.
std::optional<std::string> still_open(const Mirror& mirror, const market::Params& params,
                                      std::uint64_t height);

}  // namespace retrace::stateful
