// SPDX-License-Identifier: MIT
// Decides when a request to the artifact server is handled, and which replies are given up when they hold too much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

namespace retrace::node {

/// The requests of all connections, each from its arrival until its reply is sent. A connection has one at a time.
///
/// One request of each address is handled at a time. An expensive request, such as reading and hashing a whole tensor
/// for one tile, then occupies one thread and not all of them. The next one waits while the unsent replies of its
/// address hold `per_address` bytes or more, so an address holds at most that and one reply.
///
/// When the replies of all addresses hold more than `total`, the address that holds most gives one up. An address that
/// holds little is therefore served, however much others leave unread.
///
/// Not thread-safe.
class RequestQueue {
public:
    using Id = std::uint64_t;  ///< Id of a connection.

    struct Limits {
        std::size_t per_address;  ///< Limit in bytes on the unsent replies of one address.
        std::size_t total;        ///< Limit in bytes on the unsent replies of all addresses.
    };

    explicit RequestQueue(const Limits& limits) : limits_(limits) {}

    /// Adds a request. If true is returned, it is handled now; otherwise when `next` returns it.
    bool begin(Id id, const std::string& address);
    /// The request was handled: its reply holds `bytes` until `end`, and the address may have its next one handled.
    void handled(Id id, std::size_t bytes) noexcept;
    /// If the replies hold more than the total, returns the reply that must be dropped, which no longer counts: the
    /// largest of the address that holds most, or `newest` if that is an address of its own. Call it until it returns
    /// nothing.
    std::optional<Id> drop(Id newest) noexcept;
    /// The reply was sent, or the connection is closed, in whatever state its request is.
    void end(Id id) noexcept;
    /// The waiting request of the address that must be handled now, if any. Call it after `handled` and `end`.
    std::optional<Id> next(const std::string& address) noexcept;

    /// Bytes of all replies.
    std::size_t held() const noexcept { return held_; }

private:
    struct Address {
        std::size_t requests = 0;
        std::size_t held = 0;  ///< Bytes of its replies.
        bool handles = false;  ///< One of its requests is being handled.
        std::deque<Id> waiting;
    };
    using Addresses = std::map<std::string, Address>;
    enum class State : std::uint8_t { waits = 1, is_handled = 2, replies = 3 };
    struct Request {
        Addresses::iterator address;
        State state = State::waits;
        std::size_t bytes = 0;    ///< Bytes of the reply.
        std::uint64_t order = 0;  ///< Number of the reply; later replies have larger numbers.
    };

    void release(Request& request) noexcept;
    bool may_handle(const Address& address) const noexcept {
        return !address.handles && address.held < limits_.per_address;
    }

    const Limits limits_;
    Addresses addresses_;
    std::map<Id, Request> requests_;
    std::size_t held_ = 0;
    std::uint64_t replies_ = 0;
};

}  // namespace retrace::node
