// SPDX-License-Identifier: MIT
// Forms of Unicode in which a passphrase is the same however it was typed. Errors name what is no UTF-8.
#pragma once

#include <string>
#include <string_view>

#include "merkle/base/result.hpp"

namespace retrace::node::wallet {

/// Compatibility decomposition, which BIP-39 asks for.
Result<std::string> nfkd(std::string_view text);
/// Compatibility composition, which ethers uses for the passphrases of keystores.
Result<std::string> nfkc(std::string_view text);

}  // namespace retrace::node::wallet
