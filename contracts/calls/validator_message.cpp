// SPDX-License-Identifier: MIT
#include "contracts/calls/validator_message.hpp"

#include "merkle/base/codec.hpp"

namespace retrace::contracts {

Bytes validator_key_message(const Address& account) {
    Writer out;
    out.raw(view(std::string_view("retrace/validator-key/1"))).raw(view(account));
    return std::move(out).take();
}

Bytes beacon_share_message(std::uint64_t chain_id, std::uint64_t height) {
    Writer out;
    out.raw(view(std::string_view("retrace/beacon-share/1"))).u64(chain_id).u64(height);
    return std::move(out).take();
}

}  // namespace retrace::contracts
