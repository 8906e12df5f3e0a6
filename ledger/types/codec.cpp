// SPDX-License-Identifier: MIT
#include "ledger/types/codec.hpp"

namespace retrace::ledger {

void encode_to(Writer& out, const U256& value) { out.raw(value.to_be()); }
void encode_to(Writer& out, const Address& value) { out.raw(view(value)); }

U256 decode_u256(Reader& in) { return U256::from_be(in.raw(32)); }

Address decode_address(Reader& in) {
    const View bytes = in.raw(20);
    return bytes.size() == 20 ? address_of_bytes(bytes) : Address{};
}

}  // namespace retrace::ledger
