// SPDX-License-Identifier: MIT
#include "tests/netlab/relay.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>

namespace retrace::netlab {
namespace {

/// A pair of connected sockets; the last of its two pumps closes them.
struct Pair {
    int client, server;
    ~Pair() {
        ::close(client);
        ::close(server);
    }
};

sockaddr_in place(const std::string& address, std::uint16_t port) {
    sockaddr_in out{};
    out.sin_family = AF_INET;
    out.sin_port = htons(port);
    if (::inet_pton(AF_INET, address.c_str(), &out.sin_addr) != 1) throw std::runtime_error("no address: " + address);
    return out;
}

void pump(const std::shared_ptr<Pair>&, int from, int to) {
    char piece[1 << 16];
    for (ssize_t n = 0; (n = ::recv(from, piece, sizeof piece, 0)) > 0;)
        for (ssize_t sent = 0; sent < n;) {
            const ssize_t more = ::send(to, piece + sent, static_cast<std::size_t>(n - sent), MSG_NOSIGNAL);
            if (more <= 0) {
                ::shutdown(from, SHUT_RD);
                ::shutdown(to, SHUT_WR);
                return;
            }
            sent += more;
        }
    ::shutdown(to, SHUT_WR);
}

void accept_all(int listener, std::uint16_t port) {
    const sockaddr_in server = place("127.0.0.1", port);
    for (int client = 0; (client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;) {
        const int there = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const std::shared_ptr<Pair> pair(new Pair{client, there});
        if (::connect(there, reinterpret_cast<const sockaddr*>(&server), sizeof server) != 0) continue;
        const int on = 1;
        for (const int end : {client, there}) ::setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        std::thread(pump, pair, client, there).detach();
        std::thread(pump, pair, there, client).detach();
    }
}

}  // namespace

Relay::Relay(const std::string& address, std::uint16_t port)
    : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int on = 1;
    ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const sockaddr_in here = place(address, port);
    if (::bind(listener_, reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0 || ::listen(listener_, 64) != 0) {
        ::close(listener_);
        throw std::runtime_error("a relay cannot listen on " + address + ":" + std::to_string(port));
    }
    thread_ = std::thread(accept_all, listener_, port);
}

Relay::~Relay() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
}

}  // namespace retrace::netlab
