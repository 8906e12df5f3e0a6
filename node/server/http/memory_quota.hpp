// SPDX-License-Identifier: MIT
// How much the server holds for its clients: what they sent and nobody has answered yet, and what they have
// not read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace retrace::node::rpc {

struct MemoryQuotaLimits {
    std::size_t unread = std::size_t{32} << 20;   ///< By one WebSocket; an HTTP answer may be longer.
    std::size_t client = std::size_t{128} << 20;  ///< Of a client with a name.
    std::size_t total = std::size_t{512} << 20;   ///< Of all clients with a name.
    /// Of those without a name, who are on this machine. Theirs alone, so that strangers cannot fill it.
    std::size_t local = std::size_t{256} << 20;
};
/// Of what the subscriptions of WebSockets look for, which stays for as long as they do. It counts above too.
struct FilterLimits {
    std::size_t connection = std::size_t{4} << 20;  ///< Beyond, a subscription is refused.
    std::size_t client = std::size_t{16} << 20;     ///< As of MemoryQuotaLimits from here on.
    std::size_t total = std::size_t{64} << 20;
    std::size_t local = std::size_t{32} << 20;
};

/// Whoever holds most is the first to go when there is too much, and never somebody who holds little.
/// Thread-safe.
class MemoryQuota {
public:
    using Connection = std::uint64_t;

    explicit MemoryQuota(MemoryQuotaLimits limits) : limits_(limits) {}

    /// Returns the connections that have to be closed, this one perhaps among them; what they hold counts no
    /// more, so it has to be given back at once.
    std::vector<Connection> add(Connection connection, const std::string& client, std::size_t bytes);
    void remove(Connection connection, const std::string& client, std::size_t bytes) noexcept;

private:
    struct Client {
        std::size_t bytes = 0;
        std::map<Connection, std::size_t> connections;
    };
    using Clients = std::map<std::string, Client>;

    void remove(Clients::iterator client, std::map<Connection, std::size_t>::iterator connection,
                std::size_t bytes);
    /// Of the client, the connection that holds most.
    Connection drop_largest(Clients::iterator client);
    /// Of those with a name, the one that holds most.
    Clients::iterator largest();

    const MemoryQuotaLimits limits_;
    std::mutex mutex_;       // guards the members below
    Clients clients_;        // those that hold something
    std::size_t total_ = 0;  // of those with a name
};

}  // namespace retrace::node::rpc
