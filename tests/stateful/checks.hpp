// SPDX-License-Identifier: MIT
// Properties over all records, in addition to the contracts' own sums (contracts/lifecycle/invariants.hpp). SPEC 1.
#pragma once

#include <optional>
#include <string>

#include "tests/stateful/mirror.hpp"

namespace retrace::stateful {

/// Every open record has a scheduled item that ends it, or waits for a record that has one. Evaluated at `height`.
std::optional<std::string> without_schedule(const Mirror& mirror, std::uint64_t height);
/// Checks that no list is longer than its bound, that no party has more records open than the rules allow, and that no
/// run has more audits at risk than its lock covers (contracts 14.13).
std::optional<std::string> over_bound(const Mirror& mirror, const market::Params& params);
/// Records that are still open after all parties were silent for longer than the longest window. Beacons keep opening
/// capability challenges, so only one that is older than its windows counts.
std::optional<std::string> still_open(const Mirror& mirror, const market::Params& params, std::uint64_t height);

}  // namespace retrace::stateful
