// SPDX-License-Identifier: MIT
#include "node/cmd/doctor/sockets.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace retrace::node::doctor {

Addresses resolve(const std::string& host, const std::string& port, int flags) {
    addrinfo hints{}, *found = nullptr;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) found = nullptr;
    return {found, &::freeaddrinfo};
}

FileDescriptor bound(const addrinfo& at, int& error_number) {
    FileDescriptor out(::socket(at.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int yes = 1;
    if (out.get() >= 0) ::setsockopt(out.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    const bool done =
        out.get() >= 0 && ::bind(out.get(), at.ai_addr, at.ai_addrlen) == 0 && ::listen(out.get(), 8) == 0;
    error_number = done ? 0 : errno;
    return done ? std::move(out) : FileDescriptor();
}

bool becomes(int socket, short event, std::chrono::milliseconds most) {
    pollfd one{socket, event, 0};
    return ::poll(&one, 1, static_cast<int>(most.count())) == 1;
}

std::string text_of_address(const addrinfo& address) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(address.ai_addr, address.ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
        return {};
    return text.data();
}

bool is_own(const std::string& host) {
    const Addresses found = resolve(host, "0", 0);
    int problem = 0;
    return found && bound(*found, problem);
}

std::string source_address(const std::string& host, const std::string& port) {
    const Addresses found = resolve(host, port, 0);
    if (!found) return {};
    // Connecting a datagram socket sends nothing: it asks the routing table.
    const FileDescriptor out(::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    auto* const raw = reinterpret_cast<sockaddr*>(&own);
    if (!out || ::connect(out.get(), found->ai_addr, found->ai_addrlen) != 0 ||
        ::getsockname(out.get(), raw, &size) != 0)
        return {};
    addrinfo as = *found;
    as.ai_addr = raw;
    as.ai_addrlen = size;
    return text_of_address(as);
}

std::string endpoint_at(const std::string& address, std::uint16_t port) {
    const bool is_v6 = address.find(':') != std::string::npos;
    return "http://" + (is_v6 ? "[" + address + "]" : address) + ":" + std::to_string(port);
}

}  // namespace retrace::node::doctor
