// SPDX-License-Identifier: MIT
// A load generator with little overhead, so that on a machine with two cores the node is measured and not the client:
// plain sockets, prepared requests, one request in flight on each kept-alive connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace retrace::bench {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start);

/// An HTTP request with a JSON body, ready to be sent.
std::string http_request(std::string_view body);

/// A port of an address of loopback.
struct Endpoint {
    std::uint16_t port = 0;
    std::uint32_t address = 0x7f000001;  ///< IPv4.
};

/// One kept-alive connection. Throws std::runtime_error if the node closes it.
class Connection {
public:
    explicit Connection(const Endpoint& node);
    explicit Connection(std::uint16_t port) : Connection(Endpoint{port}) {}
    ~Connection();
    Connection(Connection&& other) noexcept;
    Connection(const Connection&) = delete;

    /// Sends a whole request and waits for the whole reply; the returned body is valid until the next call.
    std::string_view exchange(std::string_view request);

    void send(std::string_view request);
    /// Reads the available bytes; returns true when the reply is complete.
    bool receive();
    std::string_view body() const;  ///< Body of the reply that `receive` reported.
    int descriptor() const noexcept { return socket_; }

private:
    int socket_ = -1;
    std::string buffer_;
    std::size_t head_ = 0;  ///< Size of the head; 0: the head is not complete.
    std::size_t length_ = 0;
    bool chunked_ = false;  ///< The body comes in chunks (RFC 9112, 7.1), which are joined when it is complete.
};

/// Keeps many connections busy from one thread.
struct Load {
    /// Returns the next request of a connection; empty if there is none at the moment. The text must outlive the
    /// exchange.
    std::function<std::string_view(std::size_t connection)> next;
    /// Called for each reply.
    std::function<void(std::size_t connection, std::string_view body, Clock::time_point sent)> done;
    /// Returns whether there will be no more requests; if not set, requests never end.
    std::function<bool()> finished;
};

/// Runs until `until` or until it is finished, then waits for the replies in flight.
void run_load(std::vector<Connection>& connections, const Load& load, Clock::time_point until);

}  // namespace retrace::bench
