// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace retrace::node {

/// From where an IP address is reached.
enum class AddressScope : std::uint8_t {
    none,      ///< Nowhere: no address, unspecified, broadcast or multicast.
    loopback,  ///< The same machine.
    local,     ///< A private or link-local network, or behind the address translation of a provider (100.64.0.0/10).
    open,      ///< The Internet.
};

/// The scope of an IPv4 or IPv6 address in text form; of an IPv6 address that holds an IPv4 address (mapped, NAT64 or
/// 6to4) the narrower one of both.
AddressScope scope_of(const std::string& address);

}  // namespace retrace::node
