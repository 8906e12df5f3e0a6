// SPDX-License-Identifier: MIT
// Checks of a request's head before its body is read: an unambiguous length (against request smuggling) and one host.
#pragma once

#include <boost/beast/http/fields.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrace::node {

enum class HeadFault : std::uint8_t {
    transfer_encoding,  ///< Not `chunked`, or used in HTTP/1.0. A proxy that reads it differently would see
                        ///< two requests.
    two_lengths,        ///< Transfer-Encoding beside Content-Length.
    target,             ///< Neither a path nor `*`.
    host,               ///< Not exactly one in HTTP/1.1, more than one in HTTP/1.0, or malformed.
    host_not_listed,
};
/// The HTTP status: 400, or 403 for a host that is not listed.
unsigned status_of(HeadFault fault) noexcept;
/// A sentence on the fault, without a remedy.
std::string_view text_of(HeadFault fault) noexcept;

/// Checks a head. `version`: 10 or 11. `hosts`: names for `host_allowed`; empty: any.
std::optional<HeadFault> fault_of_head(const boost::beast::http::fields& head, std::string_view target,
                                       unsigned version, const std::vector<std::string>& hosts);

/// Whether the head has a field of a proxy (Forwarded, Via, X-Real-IP, X-Forwarded-*, X-Envoy-*, CF-*, *-Client-IP) or is
/// of HTTP/1.0, which proxies still send: then the connection's address is the proxy's. `version`: 10 or 11. A proxy of
/// HTTP/1.1 that adds none of these is not noticed.
bool came_by_proxy(const boost::beast::http::fields& head, unsigned version);

/// The host in a Host field, in lower case, without port and brackets; nullopt if the field is malformed.
std::optional<std::string> host_of(std::string_view field);
/// Whether `host` (as returned by host_of) is one of `allowed`; "*" allows any.
bool host_allowed(std::string_view host, const std::vector<std::string>& allowed);

/// The allowed host names of a port that listens on `address`: its local names and `more`. A loopback port always has a
/// closed list, because any web page could resolve its own name to 127.0.0.1 and so share the port's origin (DNS
/// rebinding). The names of a public port are known only to its operator: without `more` the list is empty.
std::vector<std::string> hosts_of(std::string_view address, const std::vector<std::string>& more);

/// Whether a port on this host can be reached from this machine only.
bool is_loopback(std::string_view host);

}  // namespace retrace::node
