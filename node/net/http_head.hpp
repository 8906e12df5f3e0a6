// SPDX-License-Identifier: MIT
// What a request's head has to be before anything else of the request is read: one meaning for its length, one host.
#pragma once

#include <boost/beast/http/fields.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace retrace::node {

enum class HeadFault : std::uint8_t {
    transfer_encoding,  ///< Another one than `chunked`, or one in HTTP/1.0. Whoever reads it otherwise sees
                        ///< two requests.
    two_lengths,        ///< Transfer-Encoding beside Content-Length.
    target,             ///< Neither a path nor `*`.
    host,               ///< Not exactly one of HTTP/1.1, more than one of HTTP/1.0, or none that can be.
    host_not_listed,
};
/// As HTTP says it: 400, or 403 for a host that is not listed.
unsigned status_of(HeadFault fault) noexcept;
/// What is wrong, in a sentence without its remedy.
std::string_view text_of(HeadFault fault) noexcept;

/// `version`: 10 or 11. `hosts`: names as `host_allowed` takes them; empty: any.
std::optional<HeadFault> fault_of_head(const boost::beast::http::fields& head, std::string_view target,
                                       unsigned version, const std::vector<std::string>& hosts);

/// The host of a Host field, without its port and without brackets, in lower case; nullopt when it is none.
std::optional<std::string> host_of(std::string_view field);
/// Whether `host` (as host_of returns it) is one of `allowed`; "*" is any.
bool host_allowed(std::string_view host, const std::vector<std::string>& allowed);

/// The names of a port that listens on `address`, and `more`. On loopback alone they are a closed list, because a page
/// of anywhere can give its own name the address 127.0.0.1 and is of one origin with the port then (DNS rebinding).
/// A port that other machines reach has names that only its owner knows: without `more` the list is empty.
std::vector<std::string> hosts_of(std::string_view address, const std::vector<std::string>& more);

/// Whether a host that is listened on can be reached from this machine alone.
bool is_loopback(std::string_view host);

}  // namespace retrace::node
