// SPDX-License-Identifier: MIT
// Decides which connections a full server keeps. Used by the node's port and by the artifact server of an agent.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace retrace::node {

/// The open connections of a server, by address. A connection waits for a request or is busy with one.
///
/// When every place is taken, a newcomer gets the place of a connection of the address that holds most, also of a busy
/// one: a client can keep a connection busy for as long as it likes. So an attacker with N addresses holds about the
/// N-th part of the places with each, and an address with one connection keeps it while another address has two.
///
/// The empty address is this machine. Its first `reserved` connections do not count when addresses are compared, so
/// they take the places of others and lose none to them.
///
/// Not thread-safe.
class ConnectionTable {
public:
    using Id = std::uint64_t;
    using Time = std::chrono::steady_clock::time_point;

    struct Limits {
        std::size_t connections;  ///< Limit over all addresses.
        std::size_t per_address;  ///< A newcomer beyond it replaces a waiting connection of its own address.
        std::size_t reserved;     ///< For the empty address.
    };
    struct Place {
        bool free = false;            ///< If false, the newcomer must be closed.
        std::optional<Id> evicted{};  ///< Must be closed for the newcomer; it is no longer in the table.
    };

    explicit ConnectionTable(const Limits& limits) : limits_(limits) {}

    /// Adds a connection that waits for its first request, if it gets a place. If memory runs out, nothing changes.
    Place enter(Id id, const std::string& address, Time now);
    /// Does nothing if the connection was evicted; nor do the next two.
    void leave(Id id) noexcept;
    void begin_wait(Id id, Time now) noexcept { set(id, true, now); }
    void begin_request(Id id, Time now) noexcept { set(id, false, now); }

    bool contains(Id id) const noexcept { return entries_.contains(id); }
    bool is_busy(Id id) const noexcept;
    /// Number of connections of the address.
    std::size_t count(const std::string& address) const noexcept;

private:
    using Counts = std::map<std::string, std::size_t>;
    struct Entry {
        Counts::iterator address;
        bool waits = true;
        Time since{};  ///< When it began to wait or became busy.
    };

    void set(Id id, bool waits, Time now) noexcept;
    /// The number that stands for an address with so many connections when addresses are compared.
    std::size_t weight(const std::string& address, std::size_t connections) const noexcept;
    Place place_for(const std::string& address) const;
    /// The chosen connection that has waited longest; if none waits and `also_busy`, the one that has been busy longest.
    template <class Chosen>
    std::optional<Id> longest(const Chosen& is_chosen, bool also_busy) const;

    const Limits limits_;
    Counts counts_;  ///< Connections by address.
    std::map<Id, Entry> entries_;
};

}  // namespace retrace::node
