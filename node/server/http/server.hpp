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
    std::uint16_t port = 8545;                    ///< 0: any free one.
    unsigned threads = 2;                         ///< For sockets and requests of one lookup.
    WorkPool::Limits handlers;                    ///< For all other requests.
    std::chrono::milliseconds request_timeout{5000};  ///< Of one body or message, waiting included.
    /// For HTTP routes, and one more for this machine alone. Clients take turns, and as many may wait as for
    /// handlers.
    unsigned workers = 2;
    std::vector<std::string> cors_origins;        ///< "*", exact origins, or "http://name:*" for any port.
    std::vector<std::string> hosts;               ///< That a request may name as its Host, see http_head; empty: any.
    std::size_t body_max = std::size_t{5} << 20;  ///< JSON-RPC over HTTP, and one WebSocket message.
    std::size_t connections = 2048;               ///< One more pushes out the one that waits longest.
    std::size_t connections_per_address = 256;    ///< One more is closed at once.
    double requests_per_second = 1000;            ///< Of one address, in a batch each; 0: no limit.
    double request_burst = 5000;                  ///< That many may come at once.
    bool limit_loopback = false;                  ///< Whether the two limits above hold for this machine too.
    std::size_t subscriptions = 128;              ///< Of one connection.
    MemoryQuotaLimits held;                              ///< Of what was received, is not read yet or is subscribed to.
    FilterLimits filters;                         ///< Of subscriptions.
    std::size_t pause_bytes = std::size_t{1} << 20;  ///< From a WebSocket that has so much to read nothing is read.
    std::chrono::seconds read_timeout{
        30};  ///< For a TLS handshake, a head, a body after it; also for a write.
    std::chrono::seconds idle_timeout{120};  ///< Between requests.
    std::string admin_token;                 ///< Of administrative methods; empty: nobody may call them.
    std::optional<tls::Files> tls;  ///< Certificate and key; without them the port speaks plain text.
};

struct ServerStats {
    std::size_t http_connections = 0;
    std::size_t ws_connections = 0;
    std::uint64_t refused = 0;  ///< Cut off because of a limit.
};

class Server {
public:
    /// `dispatcher` outlives the server.
    Server(ServerOptions options, const Dispatcher& dispatcher);
    ~Server();

    /// Before `serve`. The longest path that fits a target wins; JSON-RPC and WebSockets are at "/".
    void route(HttpRoute route);
    /// Takes the port, whose number it returns; an Error when it is in use, the host is no address of this
    /// machine, or the certificate cannot be used. Clients may connect from now on and are answered from
    /// `serve` on.
    Result<std::uint16_t> bind();
    void serve();
    /// Idempotent. Closes all connections and ends what runs for them; no handler runs after it returned.
    void stop() noexcept;

    /// To every subscription. Any thread; returns at once.
    void publish(const std::shared_ptr<const ledger::Block>& block);
    void publish(const ledger::TxPtr& pending);

    ServerStats stats() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace retrace::node::rpc
