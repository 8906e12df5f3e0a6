// SPDX-License-Identifier: MIT
// The certificate that a node shows, and whom a client trusts. No OpenSSL in this header.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "merkle/base/result.hpp"

namespace boost::asio::ssl {
class context;
}

namespace retrace::node::tls {

/// PEM files: a chain that starts with the node's own certificate, and its key.
struct Files {
    std::string certificate;
    std::string key;
};

/// `tls-cert.pem` and `tls-key.pem` (mode 0600) of `folder`. They are made when both are absent: P-256, ten
/// years, for localhost, the loopback addresses and `host`.
Result<Files> self_signed(const std::string& folder, const std::string& host);

using Fingerprint = std::array<std::uint8_t, 32>;
/// SHA-256 of the first certificate of a PEM file.
Result<Fingerprint> fingerprint_of(const std::string& certificate_file);
/// 64 hex digits, with or without colons between the bytes.
std::optional<Fingerprint> parse_fingerprint(std::string_view text);

/// TLS 1.2 and later. Errors name the file.
Result<std::shared_ptr<boost::asio::ssl::context>> server_context(const Files& files);

/// Whom a client takes for the node it wants. Neither: the system's authorities.
struct Trust {
    std::string ca_file;                     ///< PEM: these authorities alone.
    std::optional<Fingerprint> fingerprint;  ///< This certificate alone, whatever name it carries.
    bool operator==(const Trust&) const = default;
};
Result<std::shared_ptr<boost::asio::ssl::context>> client_context(const Trust& trust,
                                                                  const std::string& host);

}  // namespace retrace::node::tls
