// SPDX-License-Identifier: MIT
// Sockets of the checks of a port.
#pragma once

#include <netdb.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "node/platform/files.hpp"

namespace retrace::node::doctor {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

/// Addresses of a host for TCP; null if there are none. `flags`: AI_… of getaddrinfo.
Addresses resolve(const std::string& host, const std::string& port, int flags);
/// A socket that listens at the address; `error_number` is 0, or says why there is none.
FileDescriptor bound(const addrinfo& at, int& error_number);
/// Waits until the socket is ready for `event` of poll.
bool becomes(int socket, short event, std::chrono::milliseconds most);
/// The address in digits, without the port.
std::string text_of_address(const addrinfo& address);
/// Whether an address of this machine: a socket can be bound to it.
bool is_own(const std::string& host);

/// The address in digits that this machine sends from to the host, which is not asked; empty: there is no way there.
std::string source_address(const std::string& host, const std::string& port);

/// "http://ADDRESS:PORT"; an IPv6 address gets its brackets.
std::string endpoint_at(const std::string& address, std::uint16_t port);

}  // namespace retrace::node::doctor
