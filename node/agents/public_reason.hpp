// SPDX-License-Identifier: MIT
// Why work failed, in words that may leave this machine.
#pragma once

#include <string_view>

namespace retrace::node {

/// The sentence of a closed list for a reason that this machine's libraries, its system or its peers gave, in which
/// there may be paths, addresses, accounts or words of strangers: none of its text is in what is returned. Of several
/// causes that are known the first of the list counts.
std::string_view public_reason(std::string_view text);

}  // namespace retrace::node
