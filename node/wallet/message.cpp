// SPDX-License-Identifier: MIT
#include "node/wallet/message.hpp"

#include <algorithm>

#include "ledger/crypto/keccak.hpp"

namespace retrace::node::wallet {

Hash32 personal_digest(View message) {
    const std::string head =
        "\x19"
        "Ethereum Signed Message:\n" +
        std::to_string(message.size());
    return ledger::keccak256({view(head), message});
}

Bytes sign_digest(const ledger::SecretKey& key, const Hash32& digest) {
    const ledger::Signature signature = key.sign(digest);
    Bytes out(65);
    std::ranges::copy(signature.r.bytes, out.begin());
    std::ranges::copy(signature.s.bytes, out.begin() + 32);
    out[64] = static_cast<std::uint8_t>(27 + signature.y_parity);
    return out;
}

std::optional<ledger::Address> recover_signer(const Hash32& digest, View signature) {
    if (signature.size() != 65) return std::nullopt;
    const std::uint8_t v = signature[64];
    if (v > 1 && v != 27 && v != 28) return std::nullopt;
    ledger::Signature parsed;
    parsed.r = to_hash32(signature.first(32));
    parsed.s = to_hash32(signature.subspan(32, 32));
    parsed.y_parity = v >= 27 ? v - 27 : v;
    const auto key = ledger::recover(digest, parsed);
    if (!key) return std::nullopt;
    return ledger::address_of(*key);
}

}  // namespace retrace::node::wallet
