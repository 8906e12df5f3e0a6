// SPDX-License-Identifier: MIT
// EIP-55: the letter case of a displayed address is a checksum of its digits.
#pragma once

#include <string>
#include <string_view>

#include "ledger/types/address.hpp"

namespace retrace::ledger {

/// "0x" and 40 digits in the letter case of EIP-55.
std::string to_checksum(const Address& address);
/// Whether `text` is an address whose letters are all lower case, all upper case, or in EIP-55's case. For typed input,
/// in which a mixed case that does not fit is a typing error. JSON-RPC takes any case (parse_address).
bool checksum_holds(std::string_view text);

}  // namespace retrace::ledger
