// SPDX-License-Identifier: MIT
// What the server's .cpp files share. Beast lives behind this header; nobody else includes it.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <map>
#include <memory>
#include <mutex>

#include "node/rpc/server.hpp"

namespace retrace::node::rpc {

namespace beast = boost::beast;
namespace http = beast::http;
namespace net = boost::asio;

/// A block with its head as text, so that a thousand subscribers cost one serialisation.
struct BlockEvent {
    std::shared_ptr<const ledger::Block> block;
    std::string head;
};

/// An open connection as the others see it. All calls may come from any thread.
class Connection {
public:
    virtual ~Connection() = default;
    virtual void close() = 0;
    virtual bool is_websocket() const noexcept = 0;
    virtual void on_block(const std::shared_ptr<const BlockEvent>&) {}
    virtual void on_pending(const ledger::TxPtr&) {}

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
    std::uint64_t next_connection = 1;
    std::uint64_t refused = 0;

    // Last, so that they are destroyed first: with them go the connections, whose frames refer to the above.
    net::io_context io;
    net::thread_pool workers;

    Shared(ServerOptions o, const Dispatcher& d)
        : options(std::move(o)),
          dispatcher(d),
          io(static_cast<int>(options.threads)),
          workers(options.workers) {}

    std::uint64_t add(const std::shared_ptr<Connection>& connection);
    void remove(std::uint64_t id);
    std::vector<std::shared_ptr<Connection>> open_connections() const;
    /// Over the limit: closes the connection that has waited longest for a request.
    void make_room();
    void count_refused();
    const HttpRoute* route_of(std::string_view target) const;
    bool origin_allowed(std::string_view origin) const;
};

using HttpMessage = http::request<http::string_body>;

/// Serves HTTP on the stream until it ends or becomes a WebSocket. `shared` outlives the io_context's
/// handlers.
net::awaitable<void> serve_http(Shared& shared, beast::tcp_stream stream);
/// Takes over a stream whose upgrade request was read.
net::awaitable<void> serve_websocket(Shared& shared, beast::tcp_stream stream, HttpMessage request);

}  // namespace retrace::node::rpc
