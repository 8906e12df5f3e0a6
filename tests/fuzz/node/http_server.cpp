// SPDX-License-Identifier: MIT
// Bytes on the node's port: HTTP requests, upgrades, WebSocket frames. For any input, the output is nothing or HTTP
// (then frames), the connection ends, and the next client is served.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "node/server/http/server.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace node;

constexpr std::string_view kUpgrade =
    "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
constexpr unsigned kHealthEvery = 64;

struct World {
    World() {
        router.add({.name = "echo",
                    .summary = "",
                    .params = {{"value", "Any"}},
                    .result = "Any",
                    .handler = [](const rpc::Params& params, rpc::Caller&) -> rpc::Answer { return params.at(0); }});
        server.route({"/text", 100, [](const HttpRequest& request) {
                          return HttpReply{200, "text/plain", request.body};
                      }});
        const auto bound = server.bind();
        require(bound.has_value(), "a port is free");
        port = *bound;
        server.serve();
    }

    static rpc::ServerOptions options() {
        rpc::ServerOptions out;
        out.port = 0;
        out.threads = 1;
        out.workers = 1;
        out.body_max = 4096;
        out.cors_origins = {"https://a.example"};
        return out;
    }

    rpc::Router router;
    rpc::Dispatcher dispatcher{router, {}};
    rpc::Server server{options(), dispatcher};
    std::uint16_t port = 0;
};

class Socket {
public:
    explicit Socket(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const timeval timeout{10, 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
        // Closes with a reset where it can, and each connection has its own address. Otherwise thousands of connections
        // per second would exhaust the ports of one address, which stay in TIME_WAIT for a minute, for all programs.
        const linger at_once{1, 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        static std::uint32_t run = 0;
        sockaddr_in from{};
        from.sin_family = AF_INET;
        from.sin_addr.s_addr = htonl(0x7f010001U + ++run % 60'000);
        require(::bind(fd_, reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0, "an address of this machine");
        require(::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0, "the server takes connections");
    }
    ~Socket() { ::close(fd_); }
    Socket(const Socket&) = delete;

    /// Returns false if the server has closed the connection.
    bool send(View bytes) {
        while (!bytes.empty()) {
            const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent <= 0) return false;
            bytes = bytes.subspan(static_cast<std::size_t>(sent));
        }
        return true;
    }
    void end() { ::shutdown(fd_, SHUT_WR); }
    /// Reads until the server ends the connection, which it must do.
    std::string read_all() {
        std::string out;
        char chunk[4096];
        for (;;) {
            const ssize_t got = ::recv(fd_, chunk, sizeof chunk, 0);
            if (got < 0 && errno == ECONNRESET) return out;
            require(got >= 0, "a connection that its client has ended does not stay open");
            if (got == 0) return out;
            out.append(chunk, static_cast<std::size_t>(got));
        }
    }

private:
    int fd_;
};

std::string post(std::string_view body) {
    return "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

/// A frame of a client, masked with zeros.
std::string frame(std::uint8_t first, std::string_view payload) {
    std::string out{static_cast<char>(first)};
    out += static_cast<char>(0x80 | payload.size());
    return out + std::string(4, '\0') + std::string(payload);
}

constexpr std::string_view kEcho = R"({"jsonrpc":"2.0","id":1,"method":"echo","params":[1]})";

}  // namespace

// The first byte is odd for frames after an upgrade, and even for the start of a connection.
std::vector<Bytes> seeds() {
    const std::string requests[] = {
        std::string(1, '\0') + post(kEcho),
        std::string(1, '\0') + post(kEcho) + post("[" + std::string(kEcho) + "]"),
        std::string(1, '\0') + "GET /text HTTP/1.1\r\nHost: x\r\nRange: bytes=0-1\r\n\r\n",
        std::string(1, '\0') + "HEAD /text HTTP/1.0\r\n\r\n",
        std::string(1, '\0') + "OPTIONS / HTTP/1.1\r\nHost: x\r\nOrigin: https://a.example\r\n\r\n",
        std::string(1, '\0') +
            "PUT /text HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nT: x\r\n\r\n",
        std::string(1, '\0') + "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5000\r\n\r\n",
        std::string(1, '\0') +
            "POST / HTTP/1.1\r\nHost: x\r\nHost: y\r\nTransfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\n{}",
        std::string(1, '\0') + std::string(kUpgrade) + frame(0x81, kEcho),
        std::string(1, '\1') + frame(0x81, kEcho) + frame(0x88, std::string_view("\x03\xe8", 2)),
        std::string(1, '\1') + frame(0x01, kEcho.substr(0, 20)) + frame(0x89, "ping") + frame(0x80, kEcho.substr(20)),
        std::string(1, '\1') + frame(0x82, "binary") + frame(0x8a, "pong"),
        std::string(1, '\1') + "\x81\xfe\x01\x00" + std::string(4, '\0') + std::string(256, ' '),
        std::string(1, '\1') + "\x81\xff" + std::string(8, '\x7f') + std::string(4, '\0'),
    };
    std::vector<Bytes> out;
    for (const std::string& one : requests) out.push_back(to_bytes(view(std::string_view(one))));
    return out;
}

void run(View input) {
    static World world;
    static unsigned runs = 0;
    if (input.empty()) return;
    {
        Socket socket(world.port);
        bool open = true;
        if (input[0] % 2 == 1) open = socket.send(view(kUpgrade));
        if (open) socket.send(input.subspan(1));
        socket.end();
        const std::string reply = socket.read_all();
        require(reply.empty() || reply.starts_with("HTTP/1."), "the server answers in HTTP");
    }
    if (++runs % kHealthEvery != 0) return;
    Socket honest(world.port);
    honest.send(view(std::string_view(post(kEcho))));
    honest.end();
    require(honest.read_all().find(R"("result":1)") != std::string::npos, "the next client is served");
}

}  // namespace retrace::fuzz
