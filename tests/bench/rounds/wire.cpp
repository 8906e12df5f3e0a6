// SPDX-License-Identifier: MIT
#include "tests/bench/rounds/wire.hpp"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "merkle/base/ensure.hpp"
#include "node/net/http_client.hpp"

namespace retrace::bench {
namespace {

/// The fields of ArtifactSession::write.
std::string reply_head(std::size_t length) {
    return "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: " + std::to_string(length) +
           "\r\n\r\n";
}

std::size_t read_head(int socket) {
    std::string head;
    for (char byte = 0; !head.ends_with("\r\n\r\n"); head.push_back(byte))
        ensure(recv(socket, &byte, 1, 0) == 1, "a whole request");
    return head.size();
}

void send_all(int socket, View bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        ensure(sent > 0, "a client that reads");
        bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
}

}  // namespace

std::uint64_t exchanged_bytes(const std::vector<Bytes>& bodies) {
    if (bodies.empty()) return 0;  // Nobody connects.
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ensure(bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(listener, 1) == 0 &&
               getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0,
           "a free port");
    std::uint64_t bytes = 0;
    std::thread server([&] {
        const int peer = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        for (const Bytes& body : bodies) {
            const std::size_t request = read_head(peer);
            const std::string head = reply_head(body.size());
            send_all(peer, view(head));
            send_all(peer, body);
            bytes += request + head.size() + body.size();
        }
        close(peer);
    });
    node::HttpConnection connection(*node::parse_url("http://127.0.0.1:" + std::to_string(ntohs(address.sin_port))));
    for (const Bytes& body : bodies) {
        const std::string root(64, 'a');
        const auto reply = connection.exchange({"GET", "/artifact/" + root + "/packed", {}}, body.size() + 1,
                                               kernels::StopToken::after(std::chrono::seconds(60)));
        ensure(reply.has_value() && reply->body == body, "the reply of a benchmark's server");
    }
    server.join();
    close(listener);
    return bytes;
}

}  // namespace retrace::bench
