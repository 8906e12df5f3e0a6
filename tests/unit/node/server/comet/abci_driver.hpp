// SPDX-License-Identifier: MIT
// Plays CometBFT's side of an ABCI socket.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <string>
#include <thread>

#include "merkle/base/durable_file.hpp"
#include "node/server/comet/frame.hpp"
#include "server/comet/abci.pb.h"

namespace retrace::node::test {

inline Bytes to_message(const abci::Request& request) {
    Bytes out(request.ByteSizeLong());
    request.SerializeToArray(out.data(), static_cast<int>(out.size()));
    return out;
}

inline Bytes to_frame(const abci::Request& request) {
    const Bytes message = to_message(request);
    Bytes out;
    engine::append_length(out, message.size());
    out.insert(out.end(), message.begin(), message.end());
    return out;
}

inline abci::Request flush_request() {
    abci::Request request;
    request.mutable_flush();
    return request;
}

/// One connection. It gives up reading after 20 seconds.
class AbciDriver {
public:
    explicit AbciDriver(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, path.data(), path.size());
        const timeval timeout{20, 0};
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
        connected_ = ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    }
    bool connected() const { return connected_; }
    bool send(View bytes) { return write_all(socket_.get(), bytes); }

    /// The next answer; nullopt if the connection was closed.
    std::optional<abci::Response> receive() {
        for (;;) {
            if (const auto message = frames_.next()) {
                abci::Response response;
                if (!response.ParseFromArray(message->data(), static_cast<int>(message->size()))) return std::nullopt;
                return response;
            }
            std::uint8_t buffer[4096];
            const ssize_t got = ::recv(socket_.get(), buffer, sizeof buffer, 0);
            if (got <= 0 || !frames_.feed(View(buffer, static_cast<std::size_t>(got)))) return std::nullopt;
        }
    }

    /// A synchronous call, as CometBFT makes it: the request, a flush, and both answers.
    std::optional<abci::Response> call(const abci::Request& request) {
        if (!send(to_frame(request)) || !send(to_frame(flush_request()))) return std::nullopt;
        auto response = receive();
        if (!response || response->has_exception()) return response;
        const auto flushed = receive();
        return flushed && flushed->has_flush() ? response : std::nullopt;
    }

private:
    FileDescriptor socket_;
    bool connected_ = false;
    engine::FrameReader frames_;
};

}  // namespace retrace::node::test
