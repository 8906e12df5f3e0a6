// SPDX-License-Identifier: MIT
#include "node/net/address_scope.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>

namespace retrace::node {
namespace {

namespace ip = boost::asio::ip;

AddressScope scope_of_v4(const ip::address_v4& address) {
    const std::uint32_t number = address.to_uint();
    const auto in = [&](std::uint32_t net, int bits) { return number >> (32 - bits) == net >> (32 - bits); };
    if (in(0x00000000, 8) || in(0xe0000000, 3)) return AddressScope::none;
    if (in(0x7f000000, 8)) return AddressScope::loopback;
    const bool local =
        in(0x0a000000, 8) || in(0xac100000, 12) || in(0xc0a80000, 16) || in(0xa9fe0000, 16) || in(0x64400000, 10);
    return local ? AddressScope::local : AddressScope::open;
}

AddressScope scope_of_v6(const ip::address_v6& address) {
    if (address.is_unspecified() || address.is_multicast()) return AddressScope::none;
    if (address.is_loopback()) return AddressScope::loopback;
    const auto bytes = address.to_bytes();
    const auto four_at = [&](std::size_t at) {
        return scope_of_v4(ip::address_v4({bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]}));
    };
    if (address.is_v4_mapped()) return four_at(12);
    constexpr std::array<unsigned char, 12> kNat64{0x00, 0x64, 0xff, 0x9b};
    if (std::equal(kNat64.begin(), kNat64.end(), bytes.begin())) return four_at(12);
    if (bytes[0] == 0x20 && bytes[1] == 0x02) return four_at(2);  // 6to4
    const bool site = bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0xc0;
    return address.is_link_local() || site || (bytes[0] & 0xfe) == 0xfc ? AddressScope::local : AddressScope::open;
}

}  // namespace

AddressScope scope_of(const std::string& address) {
    boost::system::error_code code;
    const auto parsed = ip::make_address(address.substr(0, address.find('%')), code);
    if (code) return AddressScope::none;
    return parsed.is_v4() ? scope_of_v4(parsed.to_v4()) : scope_of_v6(parsed.to_v6());
}

}  // namespace retrace::node
