// SPDX-License-Identifier: MIT
// A client that costs little, so that on a machine of two cores the node is measured and not its load: plain
// sockets, prepared requests, one request under way on each kept-alive connection.
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

/// One kept-alive connection to a port of loopback. Throws std::runtime_error when the node hangs up.
class Connection {
public:
    explicit Connection(std::uint16_t port);
    ~Connection();
    Connection(Connection&& other) noexcept;
    Connection(const Connection&) = delete;

    /// Sends a whole request and waits for the whole reply, whose body it returns until the next call.
    std::string_view exchange(std::string_view request);

    void send(std::string_view request);
    /// Takes what has arrived; true when a whole reply is there.
    bool receive();
    std::string_view body() const;  ///< Of the reply that `receive` reported.
    int descriptor() const noexcept { return socket_; }

private:
    int socket_ = -1;
    std::string buffer_;
    std::size_t head_ = 0;  ///< Bytes up to the body; 0: the head is not complete.
    std::size_t length_ = 0;
};

/// Keeps many connections busy from one thread.
struct Load {
    /// The next request of a connection; empty: none at this moment. The text outlives the exchange.
    std::function<std::string_view(std::size_t connection)> next;
    /// A reply came.
    std::function<void(std::size_t connection, std::string_view body, Clock::time_point sent)> done;
    /// Whether there will be no more requests; none: that is never so.
    std::function<bool()> finished;
};

/// Runs until `until` or until it is finished, then waits for the replies that are under way.
void run_load(std::vector<Connection>& connections, const Load& load, Clock::time_point until);

}  // namespace retrace::bench
