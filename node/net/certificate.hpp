// SPDX-License-Identifier: MIT
// The node's TLS certificate, and the trust settings of a client. No OpenSSL in this header.
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

/// Returns `tls-cert.pem` and `tls-key.pem` (mode 0600) in `folder`. Creates them if the certificate is absent: P-256,
/// valid for ten years, for localhost, the loopback addresses and `host`. An Error if only the key is absent.
Result<Files> self_signed(const std::string& folder, const std::string& host);

using Fingerprint = std::array<std::uint8_t, 32>;
/// SHA-256 of the first certificate of a PEM file.
Result<Fingerprint> fingerprint_of(const std::string& certificate_file);
/// Parses 64 hex digits, with or without colons between the bytes.
std::optional<Fingerprint> parse_fingerprint(std::string_view text);

/// A context for TLS 1.2 and later. Errors name the file.
Result<std::shared_ptr<boost::asio::ssl::context>> server_context(const Files& files);

/// The certificates that a client accepts. With neither member set: those signed by the system's authorities.
struct Trust {
    std::string ca_file;                     ///< PEM file: only these authorities.
    std::optional<Fingerprint> fingerprint;  ///< Only this certificate, whatever name it carries.
    bool operator==(const Trust&) const = default;
};
Result<std::shared_ptr<boost::asio::ssl::context>> client_context(const Trust& trust, const std::string& host);

}  // namespace retrace::node::tls
