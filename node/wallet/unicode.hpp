// SPDX-License-Identifier: MIT
// Unicode normal forms, so that a passphrase is the same however it was typed. Text that is not UTF-8 is an error.
#pragma once

#include <string>
#include <string_view>

#include "merkle/base/result.hpp"

namespace retrace::node::wallet {

/// Compatibility decomposition, which BIP-39 requires.
Result<std::string> nfkd(std::string_view text);
/// Compatibility composition, which ethers uses for the passphrases of keystores.
Result<std::string> nfkc(std::string_view text);

}  // namespace retrace::node::wallet
