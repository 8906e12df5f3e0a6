// SPDX-License-Identifier: MIT
// Parses fingerprints. Separate from OpenSSL, because the simulation's views parse addresses too.
#include <algorithm>

#include "merkle/base/bytes.hpp"
#include "node/net/certificate.hpp"

namespace retrace::node::tls {

std::optional<Fingerprint> parse_fingerprint(std::string_view text) {
    std::string digits(text);
    std::erase(digits, ':');
    const auto bytes = digits.size() == 64 ? from_hex(digits) : std::nullopt;
    if (!bytes) return std::nullopt;
    Fingerprint out{};
    std::copy(bytes->begin(), bytes->end(), out.begin());
    return out;
}

}  // namespace retrace::node::tls
