// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "merkle/base/result.hpp"

namespace retrace::node::wallet {

/// Unicode's compatibility decomposition (NFKD), which BIP-39 asks for. The error names what is no UTF-8.
Result<std::string> nfkd(std::string_view text);

}  // namespace retrace::node::wallet
