// SPDX-License-Identifier: MIT
// A peer that answers every request with arbitrary bytes chosen by a test.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

#include "merkle/base/ensure.hpp"

namespace retrace::node::test {

class HostilePeer {
public:
    /// Answers one request; `send` returns false if the client has disconnected.
    using Send = std::function<bool(const std::string& bytes)>;
    using Script = std::function<void(const std::string& request_line, const Send& send)>;

    explicit HostilePeer(Script script) : script_(std::move(script)) {
        listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        ensure(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0, "bind");
        ensure(::listen(listener_, 8) == 0, "listen");
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
        url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
        thread_ = std::thread([this] { serve(); });
    }
    ~HostilePeer() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
    }
    const std::string& url() const { return url_; }
    int requests() const { return requests_; }
    /// Body of the request that is being answered, for scripts.
    const std::string& body() const { return body_; }

    static std::string ok(const std::string& body) {
        return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    }

private:
    void serve() {
        for (;;) {
            const int client = ::accept(listener_, nullptr, nullptr);
            if (client < 0) return;
            std::string request;
            char byte = 0;
            while (!request.ends_with("\r\n\r\n") && ::recv(client, &byte, 1, 0) == 1) request.push_back(byte);
            constexpr std::string_view kLength = "Content-Length: ";
            const auto at = request.find(kLength);
            body_.resize(at == std::string::npos ? 0 : std::stoul(request.substr(at + kLength.size())));
            for (std::size_t i = 0; i < body_.size() && ::recv(client, &body_[i], 1, 0) == 1;) ++i;
            ++requests_;
            script_(request.substr(0, request.find('\r')), [&](const std::string& bytes) {
                return ::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
            });
            ::close(client);
        }
    }

    Script script_;
    int listener_ = -1;
    std::string url_, body_;
    std::atomic<int> requests_{0};
    std::thread thread_;
};

}  // namespace retrace::node::test
