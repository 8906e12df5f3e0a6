// SPDX-License-Identifier: MIT
// Declarations shared by the server's .cpp files. Beast stays behind this header; no other folder includes it.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "node/net/connection_table.hpp"
#include "node/net/tls_stream.hpp"
#include "node/platform/memory_trim.hpp"
#include "node/server/http/event.hpp"
#include "node/server/http/server.hpp"
#include "node/server/jsonrpc/rate_limit.hpp"

namespace retrace::node::rpc {

namespace beast = boost::beast;
namespace http = beast::http;
namespace net = boost::asio;

struct Shared;
using HttpMessage = http::request<http::string_body>;

/// Bytes that one connection holds in a MemoryQuota. Only the connection changes it.
class Reservation {
public:
    /// `shared` outlives this. `quota` points to one of its quotas.
    Reservation(Shared& shared, MemoryQuota Shared::*quota, MemoryQuota::Connection id, std::string client)
        : shared_(shared), quota_(quota), id_(id), client_(std::move(client)) {}
    ~Reservation();
    Reservation(const Reservation&) = delete;

    /// Asynchronously closes the connections that exceed the quota as a result, possibly this one.
    void set(std::size_t bytes);
    std::size_t bytes() const noexcept { return bytes_; }

private:
    Shared& shared_;
    MemoryQuota Shared::*const quota_;
    const MemoryQuota::Connection id_;
    const std::string client_;
    std::size_t bytes_ = 0;
};

/// An open connection. All functions are thread-safe.
class Connection {
public:
    /// `place_id`: of its ConnectionPlace.
    explicit Connection(std::uint64_t place_id) : id(place_id) {}
    virtual ~Connection() = default;
    virtual void close() = 0;
    virtual bool is_websocket() const noexcept = 0;
    virtual void on_event(const std::shared_ptr<Event>&) {}

    const std::uint64_t id;
};

/// A place in the table of connections, until it is destroyed or the connection is evicted. A WebSocket has that of the
/// HTTP connection that it was.
class ConnectionPlace {
public:
    ConnectionPlace(Shared& shared, std::uint64_t id) : shared_(&shared), id_(id) {}
    ConnectionPlace(ConnectionPlace&& other) noexcept
        : shared_(std::exchange(other.shared_, nullptr)), id_(other.id_) {}
    ~ConnectionPlace();

    std::uint64_t id() const noexcept { return id_; }

private:
    Shared* shared_;
    std::uint64_t id_;
};

/// State shared by all connections of a server.
struct Shared {
    ServerOptions options;
    const Dispatcher& dispatcher;
    std::vector<HttpRoute> routes;
    std::optional<HttpRoute> page;  ///< Of GET "/".

    mutable std::mutex mutex;                                        // guards the members below
    ConnectionTable table;                                           // by client, see client_of
    std::map<std::uint64_t, std::weak_ptr<Connection>> connections;  // those that have a place
    std::uint64_t refused = 0;

    std::atomic<std::uint64_t> next_connection{1};
    std::atomic<std::size_t> pending_subscriptions{0};
    std::atomic<bool> stopping{false};
    RateLimiter rate;
    MemoryQuota held;
    MemoryQuota filters;  ///< Filters of subscriptions; they count in `held` too.
    MemoryTrim trim;
    std::shared_ptr<net::ssl::context> tls;  // nullptr: plain text

    // Last, so that they are destroyed first: they own the connections' coroutine frames, which refer to the above.
    net::io_context io;
    WorkPool workers;  ///< Runs HTTP routes.
    WorkPool handlers;
    /// One thread that prepares the subscribers' messages, so that the I/O threads and the handlers do not have to. A
    /// connection is queued in it at most once.
    WorkPool deliveries;

    Shared(ServerOptions o, const Dispatcher& d)
        : options(std::move(o)),
          dispatcher(d),
          // `enter` compares with connections_per_address: this server closes a newcomer beyond it.
          table({options.connections, std::numeric_limits<std::size_t>::max(), options.connections_local}),
          rate(options.requests_per_second, options.request_burst),
          held(options.held),
          filters({.client = options.filters.client, .total = options.filters.total, .local = options.filters.local}),
          io(static_cast<int>(options.threads)),
          workers({.threads = options.workers,
                   .local_threads = 1,
                   .waiting = options.handlers.waiting,
                   .waiting_per_client = options.handlers.waiting_per_client}),
          handlers(options.handlers),
          deliveries({.threads = 1,
                      .local_threads = 0,
                      .waiting = std::numeric_limits<std::size_t>::max(),
                      .waiting_per_client = std::numeric_limits<std::size_t>::max()}) {}

    /// A place for a new connection of the client; another connection may be closed for it. nullopt: refused.
    std::optional<ConnectionPlace> enter(const std::string& client);
    void leave(std::uint64_t id) noexcept;
    /// Registers the connection that has the place from now on; false if it was evicted, and must end.
    bool add(const std::shared_ptr<Connection>& connection);
    void begin_wait(std::uint64_t id) noexcept;
    void begin_request(std::uint64_t id) noexcept;
    /// Whether it is serving a request.
    bool is_busy(std::uint64_t id) const noexcept;
    std::vector<std::shared_ptr<Connection>> open_connections() const;
    /// Closes a connection that holds too much.
    void cut_off(std::uint64_t id);
    void count_refused();
    /// The name of a peer for the limits: an IPv4 address, an IPv6 /64 network, or an empty string for this machine if
    /// it is exempt.
    std::string client_of(const net::ip::tcp::endpoint& peer) const;
    Allowance allowance_of(const std::string& client) { return {client.empty() ? nullptr : &rate, client}; }
    const HttpRoute* route_of(std::string_view target) const;
    bool origin_allowed(std::string_view origin) const;
    /// Whether a script of another origin sent it, and the origin is not listed as allowed.
    bool is_foreign(const HttpMessage& request) const;
    /// Whether `origin` is that of this port's own pages, asked for by the Host field `host`: the name is listed or
    /// `rpc.host`, or it is localhost or an IP address outside private networks, and the scheme is the port's.
    bool is_own(std::string_view origin, std::string_view host) const;
};

/// A job that a connection runs on a pool.
class Work {
public:
    virtual ~Work() = default;
    /// Runs on a thread of the pool.
    virtual void run() noexcept = 0;
    /// Called before or during `run` when the client no longer waits for the result.
    virtual void hang_up() noexcept {}
};
/// State of a piece of work; `left`: the client hung up or was cut off before it ran.
enum class Done : std::uint8_t { waits, ran, refused, left };

/// The connection that waits for work; everything but `Work::run` happens on its strand.
struct Completion {
    beast::tcp_stream& tcp;
    /// The connection's timer. The connection cancels it when it is cut off; waiting work is then withdrawn.
    net::steady_timer& wake;
    std::string client;  ///< Name from `client_of`; an administrator counts as this machine.
};
/// Runs `work` on `pool`. `work` keeps the objects alive that `completion` refers to.
net::awaitable<Done> run_on(WorkPool& pool, Completion completion, std::shared_ptr<Work> work);

/// The sender of a JSON-RPC body and its connection.
struct RequestContext {
    /// Keeps `subscriptions` and the objects that `completion` refers to alive while a handler runs.
    std::shared_ptr<void> keeps;
    Completion completion;
    Subscriptions* subscriptions = nullptr;
    bool admin = false;
    bool proxied = false;  ///< came_by_proxy
};
/// Answers one body. Runs on the strand of the connection, for one body at a time. Requests that are not light run on
/// the handlers, and end early when the client hangs up.
net::awaitable<std::string> answer_call(Shared& shared, RequestContext context, std::string body);

/// Serves HTTP on the stream until it ends or becomes a WebSocket. `shared` outlives the io_context's handlers.
net::awaitable<void> serve_http(Shared& shared, tls::Stream stream, std::string client, ConnectionPlace place);
/// Serves a WebSocket on a stream whose upgrade request was read, in the place of the HTTP connection, which the caller
/// keeps.
net::awaitable<void> serve_websocket(Shared& shared, tls::Stream stream, HttpMessage request, std::string client,
                                     std::uint64_t place_id);

}  // namespace retrace::node::rpc
