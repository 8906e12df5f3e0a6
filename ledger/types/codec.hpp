// SPDX-License-Identifier: MIT
// Amounts and addresses in the records of the ledger and of the contracts: an amount is 32 bytes, big endian; an address
// is its 20 bytes.
#pragma once

#include "ledger/types/address.hpp"
#include "ledger/types/u256.hpp"
#include "merkle/base/codec.hpp"

namespace retrace::ledger {

void encode_to(Writer& out, const U256& value);
void encode_to(Writer& out, const Address& value);
U256 decode_u256(Reader& in);
Address decode_address(Reader& in);

}  // namespace retrace::ledger
