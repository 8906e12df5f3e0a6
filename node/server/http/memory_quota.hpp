// SPDX-License-Identifier: MIT
// Limits the memory that the server holds for its clients: unanswered requests, unread answers and subscriptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace retrace::node::rpc {

struct MemoryQuotaLimits {
    std::size_t unread = std::size_t{32} << 20;   ///< For one WebSocket; an HTTP answer may be longer.
    std::size_t client = std::size_t{128} << 20;  ///< For a named client.
    std::size_t total = std::size_t{512} << 20;   ///< For all named clients together.
    /// For the unnamed client, which is this machine. Separate, so that remote clients cannot use it up.
    std::size_t local = std::size_t{256} << 20;
};
/// Limits on the filters of WebSocket subscriptions, which stay as long as these. They count in MemoryQuotaLimits too.
struct FilterLimits {
    std::size_t connection = std::size_t{4} << 20;  ///< A subscription over it is refused.
    std::size_t client = std::size_t{16} << 20;     ///< This and the next two are as in MemoryQuotaLimits.
    std::size_t total = std::size_t{64} << 20;
    std::size_t local = std::size_t{32} << 20;
};

/// When a limit is exceeded, the largest holder is closed first, so a client that holds little is never affected.
/// Thread-safe.
class MemoryQuota {
public:
    using Connection = std::uint64_t;

    explicit MemoryQuota(MemoryQuotaLimits limits) : limits_(limits) {}

    /// Returns the connections that must be closed, possibly this one. Their bytes are no longer counted, so their
    /// memory must be released at once.
    std::vector<Connection> add(Connection connection, const std::string& client, std::size_t bytes);
    void remove(Connection connection, const std::string& client, std::size_t bytes) noexcept;

private:
    struct Client {
        std::size_t bytes = 0;
        std::map<Connection, std::size_t> connections;
    };
    using Clients = std::map<std::string, Client>;

    void remove(Clients::iterator client, std::map<Connection, std::size_t>::iterator connection, std::size_t bytes);
    /// Removes the client's largest connection from the accounts and returns it.
    Connection drop_largest(Clients::iterator client);
    /// The named client that holds most.
    Clients::iterator largest();

    const MemoryQuotaLimits limits_;
    std::mutex mutex_;       // guards the members below
    Clients clients_;        // clients that hold something
    std::size_t total_ = 0;  // bytes of all named clients
};

}  // namespace retrace::node::rpc
