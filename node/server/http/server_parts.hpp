// SPDX-License-Identifier: MIT
// What the server's .cpp files share. Beast lives behind this header; nobody else includes it.
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

/// What one connection holds, in bytes. The connection alone changes it.
class Reservation {
public:
    /// `shared` outlives this. `held`: one of its accounts.
    Reservation(Shared& shared, MemoryQuota Shared::*held, MemoryQuota::Connection id, std::string client)
        : shared_(shared), held_(held), id_(id), client_(std::move(client)) {}
    ~Reservation();
    Reservation(const Reservation&) = delete;

    /// Closes whoever holds too much then, soon; it may be this connection.
    void set(std::size_t bytes);
    std::size_t bytes() const noexcept { return bytes_; }

private:
    Shared& shared_;
    MemoryQuota Shared::*const held_;
    const MemoryQuota::Connection id_;
    const std::string client_;
    std::size_t bytes_ = 0;
};

/// An open connection as the others see it. All calls may come from any thread.
class Connection {
public:
    explicit Connection(Shared& shared);
    virtual ~Connection() = default;
    virtual void close() = 0;
    virtual bool is_websocket() const noexcept = 0;
    virtual void on_event(const std::shared_ptr<Event>&) {}

    const std::uint64_t id;
    /// Since when it waits for a request; the largest value while one is served.
    std::atomic<std::int64_t> waiting_since_ns{0};
};

/// What all connections of a server share.
struct Shared {
    ServerOptions options;
    const Dispatcher& dispatcher;
    std::vector<HttpRoute> routes;

    mutable std::mutex mutex;  // guards the members below
    std::map<std::uint64_t, std::weak_ptr<Connection>> connections;
    std::uint64_t refused = 0;
    std::map<std::string, std::size_t> connections_of;  // client → how many are open

    std::atomic<std::uint64_t> next_connection{1};
    std::atomic<std::size_t> pending_subscriptions{0};
    std::atomic<bool> stopping{false};
    RateLimiter rate;
    MemoryQuota held;
    MemoryQuota filters;  ///< Of subscriptions; in `held` too.
    MemoryTrim trim;
    std::shared_ptr<net::ssl::context> tls;  // nullptr: plain text

    // Last, so that they are destroyed first: with them go the connections, whose frames refer to the above.
    net::io_context io;
    WorkPool workers;  ///< Of HTTP routes.
    WorkPool handlers;
    /// One thread that prepares what subscribers are told, so that neither the threads that move bytes nor
    /// the handlers do. A connection waits in it once at most.
    WorkPool deliveries;

    Shared(ServerOptions o, const Dispatcher& d)
        : options(std::move(o)),
          dispatcher(d),
          rate(options.requests_per_second, options.request_burst),
          held(options.held),
          filters({.client = options.filters.client,
                   .total = options.filters.total,
                   .local = options.filters.local}),
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

    void add(const std::shared_ptr<Connection>& connection);
    void remove(std::uint64_t id);
    std::vector<std::shared_ptr<Connection>> open_connections() const;
    /// Over the limit: closes the connection that has waited longest for a request.
    void make_room();
    /// Of one that holds too much.
    void cut_off(std::uint64_t id);
    void count_refused();
    /// Who is at the other end, as the limits see it: an IPv4 address, an IPv6 network of 64 bits, or nothing
    /// for this machine when it is exempt.
    std::string client_of(const net::ip::tcp::endpoint& peer) const;
    /// False when the client has as many connections as it may; otherwise `leave` follows.
    bool enter(const std::string& client);
    void leave(const std::string& client);
    Allowance allowance_of(const std::string& client) { return {client.empty() ? nullptr : &rate, client}; }
    const HttpRoute* route_of(std::string_view target) const;
    bool origin_allowed(std::string_view origin) const;
    /// Whether a page's script sent it and no list says that it may.
    bool is_foreign(const HttpMessage& request) const;
};

/// What a connection has made by a pool.
class Work {
public:
    virtual ~Work() = default;
    /// On a thread of the pool.
    virtual void run() noexcept = 0;
    /// Nobody waits for it any more. While it runs, or before.
    virtual void hang_up() noexcept {}
};
/// What became of it; `left`: the client hung up, or was cut off, before it ran.
enum class Done : std::uint8_t { waits, ran, refused, left };

/// Who waits for work: a connection, on whose strand all but `Work::run` happens.
struct Completion {
    beast::tcp_stream& tcp;
    /// Of the connection, which cancels it when it is cut off: what waits is given up then.
    net::steady_timer& wake;
    std::string client;  ///< As `client_of` names it; an administrator counts as this machine.
};
/// `work` owns what `completion` refers to.
net::awaitable<Done> run_on(WorkPool& pool, Completion completion, std::shared_ptr<Work> work);

/// Who sent a JSON-RPC body, and over what.
struct RequestContext {
    /// Owns what `completion` refers to and `subscriptions`, for as long as a handler runs.
    std::shared_ptr<void> keeps;
    Completion completion;
    Subscriptions* subscriptions = nullptr;
    bool admin = false;
};
/// The answer to one body, on the strand of the connection, which calls this for one body at a time. What may
/// take long runs on the handlers meanwhile, and ends early when the client hangs up.
net::awaitable<std::string> answer_call(Shared& shared, RequestContext context, std::string body);

/// Serves HTTP on the stream until it ends or becomes a WebSocket. `shared` outlives the io_context's
/// handlers.
net::awaitable<void> serve_http(Shared& shared, tls::Stream stream, std::string client);
/// Takes over a stream whose upgrade request was read.
net::awaitable<void> serve_websocket(Shared& shared, tls::Stream stream, HttpMessage request,
                                     std::string client);

}  // namespace retrace::node::rpc
