// SPDX-License-Identifier: MIT
// The peer of rounds behind slow links: dense updates that Gloo sums.
#pragma once

#include <cstdint>

namespace retrace::bench {

/// Time over that of its steps of a round in which members behind links sum an update of `parameters` fp32 values with the
/// all-reduce of Gloo (Debian's python3-torch). `ratio`: time of the update on a link over that of the steps, which are
/// slept. Throws an error with the cause where it cannot be measured.
double gloo_stretch(double ratio, std::uint64_t parameters, std::uint32_t members);

}  // namespace retrace::bench
