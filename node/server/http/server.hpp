// SPDX-License-Identifier: MIT
// HTTP/1.1 and WebSocket on one port.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ledger/block/block.hpp"
#include "node/net/certificate.hpp"
#include "node/net/http_types.hpp"
#include "node/server/http/memory_quota.hpp"
#include "node/server/http/work_pool.hpp"
#include "node/server/jsonrpc/dispatch.hpp"

namespace retrace::node::rpc {

struct ServerOptions {
    std::string host = "127.0.0.1";
    std::uint16_t port = 8545;                        ///< 0: any free port.
    unsigned threads = 2;                             ///< I/O threads: sockets and light requests.
    WorkPool::Limits handlers;                        ///< For all other requests.
    std::chrono::milliseconds request_timeout{5000};  ///< For one body or message, time in the queue included.
    /// Threads for HTTP routes, plus one for this machine only. Clients take turns, and as many requests may wait as
    /// for the handlers.
    unsigned workers = 2;
    std::vector<std::string> cors_origins;        ///< "*", exact origins, or "http://name:*" for any port.
    std::vector<std::string> hosts;               ///< Allowed Host names, see http_head; empty: any.
    std::size_t body_max = std::size_t{5} << 20;  ///< For JSON-RPC over HTTP and a WebSocket message.
    std::size_t connections = 2048;  ///< At the limit, a new connection replaces one of the address that holds most.
    std::size_t connections_per_address = 256;  ///< One more is closed at once.
    std::size_t connections_local = 256;  ///< Connections of this machine that replace those of others if need be.
    double requests_per_second = 1000;    ///< For each address; each request of a batch counts; 0: no limit.
    double request_burst = 5000;          ///< Capacity of the token bucket.
    bool limit_loopback = false;          ///< Whether the limits per address hold for this machine too.
    std::size_t subscriptions = 128;      ///< For each connection.
    MemoryQuotaLimits held;               ///< For requests, unread answers and subscriptions.
    FilterLimits filters;                 ///< For the filters of subscriptions.
    std::size_t pause_bytes = std::size_t{1} << 20;  ///< A WebSocket with more unread bytes is not read from.
    std::chrono::seconds read_timeout{30};           ///< For a TLS handshake, the first head, a body; also for a write.
    std::chrono::seconds idle_timeout{120};          ///< Between requests.
    std::string admin_token;                         ///< For administrative methods; empty: they are refused.
    std::optional<tls::Files> tls;                   ///< Certificate and key; nullopt: no TLS.
    /// Whether JSON-RPC and WebSockets are answered at "/"; without them there are only the page and the routes.
    bool json_rpc = true;
    std::string port_flag = "--rpc-port";  ///< Named as the remedy when the port is in use.
};

struct ServerStats {
    std::size_t http_connections = 0;
    std::size_t ws_connections = 0;
    std::uint64_t refused = 0;  ///< Requests and connections refused or closed by a limit.
};

class Server {
public:
    /// `dispatcher` outlives the server.
    Server(ServerOptions options, const Dispatcher& dispatcher);
    ~Server();

    /// Called before `serve`. The longest path that matches a target wins; JSON-RPC and WebSockets are at "/".
    void route(HttpRoute route);
    /// Called before `serve`. Answers GET and HEAD of "/", where browsers begin; without it they get status 405.
    void page(HttpHandler handler);
    /// Opens the port and returns its number; an Error if it is in use, the host is no address of this machine, or the
    /// certificate cannot be used. Clients can connect from now on; they are answered once `serve` was called.
    Result<std::uint16_t> bind();
    void serve();
    /// Closes all connections and ends their requests; no handler runs after it returned. Idempotent.
    void stop() noexcept;

    /// Sends the event to every subscription. Thread-safe; returns at once.
    void publish(const std::shared_ptr<const ledger::Block>& block);
    void publish(const ledger::TxPtr& pending);

    ServerStats stats() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace retrace::node::rpc
