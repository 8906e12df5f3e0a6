// SPDX-License-Identifier: MIT
// An HTTP connection: serves requests in sequence, JSON-RPC by POST, routes, the upgrade to WebSocket.
#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/read_size.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <ctime>
#include <limits>

#include "node/net/http_head.hpp"
#include "node/server/http/admin_token.hpp"
#include "node/server/http/http_reply.hpp"
#include "node/server/http/server_parts.hpp"

namespace retrace::node::rpc {
namespace {

using RequestParser = http::request_parser<http::string_body>;

constexpr std::size_t kRequestBufferMax = std::size_t{64} << 10;  ///< Limit on bytes that are not parsed yet.
constexpr std::size_t kReadBytes = std::size_t{64} << 10;         ///< Most bytes read at once.
/// CPU time of a route that is free, and the tokens that each further millisecond costs, e.g. to hash a large tensor.
constexpr std::int64_t kFreeNs = 10'000'000;
constexpr double kTokensPerMs = 4;

/// CPU time of this thread, without time spent waiting.
std::int64_t computed_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// An HTTP connection that other threads may close.
class HttpConnection final : public Connection, public std::enable_shared_from_this<HttpConnection> {
public:
    HttpConnection(Shared& shared, tls::Stream s, std::string c, std::uint64_t place_id)
        : Connection(place_id),
          executor(s.get_executor()),
          stream(std::move(s)),
          client(std::move(c)),
          wake(executor),
          held(shared, &Shared::held, id, client) {}
    void close() override {
        net::post(executor, [self = shared_from_this()] {
            if (self->upgraded) return;
            self->stream.tcp().close();
            self->wake.cancel();
        });
    }
    bool is_websocket() const noexcept override { return false; }

    Completion completion(bool admin) { return {stream.tcp(), wake, admin ? std::string() : client}; }
    /// Reserves the memory of the buffer plus `more` bytes.
    void hold(std::size_t more) { held.set(more + buffer.capacity()); }

    // Separate from the stream, which may be moved into a WebSocket while another thread calls `close`.
    const tls::Stream::executor_type executor;
    tls::Stream stream;
    const std::string client;
    net::steady_timer wake;  ///< Timer of the work that it waits for (run_on).
    beast::flat_buffer buffer{kRequestBufferMax};
    Reservation held;       ///< The buffer plus the body while it is read and answered, then the answer.
    bool upgraded = false;  ///< The stream was moved into a WebSocket.
};

bool is_json(const HttpMessage& request) {
    std::string_view type = text(request[http::field::content_type]);
    type = type.substr(0, type.find(';'));
    while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
    return beast::iequals(beast::string_view(type.data(), type.size()), "application/json");
}

bool is_admin(const Shared& shared, const HttpMessage& request) {
    return shows_token(text(request[http::field::authorization]), shared.options.admin_token);
}

net::awaitable<ReplyMessage> answer_rpc(HttpConnection& connection, Shared& shared, HttpMessage& request) {
    if (request.method() == http::verb::options) co_return make_reply(request, 204, "", "");
    if (request.method() != http::verb::post) {
        co_return make_reply(request, 405, "text/plain",
                             "This is a Retrace node. JSON-RPC is served here by POST and WebSocket; rpc.discover\n"
                             "lists its methods, docs/json-rpc.md explains them. /health and /metrics are served\n"
                             "by GET.\n");
    }
    // Only this type makes a browser send a CORS preflight, so that a page of another origin cannot post here
    // unnoticed.
    if (!is_json(request)) {
        co_return make_reply(request, 415, "text/plain", "invalid content type, only application/json is supported\n");
    }
    const bool admin = is_admin(shared, request);
    RequestContext context{connection.shared_from_this(), connection.completion(admin), nullptr, admin,
                           came_by_proxy(request, request.version())};
    std::string body = co_await answer_call(shared, std::move(context), std::move(request.body()));
    co_return make_reply(request, 200, "application/json", std::move(body));
}

/// A request of a route. Routes may read files and hash, so they run on workers and do not delay JSON-RPC.
struct RouteCall final : Work {
    RouteCall(std::shared_ptr<void> owner, Allowance paid, const HttpRoute& wanted, HttpMessage& message, bool foreign)
        : keeps(std::move(owner)), allowance(std::move(paid)), route(wanted) {
        request.method = std::string(text(message.method_string()));
        request.target = std::string(text(message.target()));
        request.authorization = std::string(text(message[http::field::authorization]));
        request.if_none_match = std::string(text(message[http::field::if_none_match]));
        request.foreign = foreign;
        body = std::move(message.body());
    }
    void run() noexcept override {
        const std::int64_t begin = computed_ns();
        try {
            request.body = to_bytes(view(body));
            body = {};
            HttpReply reply = route.handler(request);
            request.body = {};
            status = reply.status;
            content_type = std::move(reply.content_type);
            headers = std::move(reply.headers);
            body.assign(reply.body.begin(), reply.body.end());
            const std::int64_t paid = computed_ns() - begin - kFreeNs;
            if (paid > 0) allowance.charge(kTokensPerMs * static_cast<double>(paid) / 1e6);
        } catch (const std::exception& e) {
            spdlog::error("event=route_bug target=\"{}\" what=\"{}\"", request.target, e.what());
            status = 500, content_type = "text/plain", body = "internal error\n";
        }
    }

    const std::shared_ptr<void> keeps;
    Allowance allowance;
    const HttpRoute& route;
    HttpRequest request;
    unsigned status = 500;
    std::string content_type;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;  ///< Body of the request, then of the reply.
};

net::awaitable<ReplyMessage> answer_route(HttpConnection& connection, Shared& shared, const HttpRoute& route,
                                          HttpMessage& request) {
    Completion completion = connection.completion(is_admin(shared, request));
    Allowance allowance = shared.allowance_of(completion.client);
    if (!allowance.take()) {
        shared.count_refused();
        co_return make_reply(request, 429, "text/plain", "rate limit exceeded\n");
    }
    const auto call = std::make_shared<RouteCall>(connection.shared_from_this(), std::move(allowance), route, request,
                                                  shared.is_foreign(request));
    const Done done = co_await run_on(shared.workers, std::move(completion), call);
    if (done == Done::refused) {
        shared.count_refused();
        co_return make_reply(request, 503, "text/plain", "too many requests are waiting, try again later\n");
    }
    ReplyMessage reply = make_reply(request, call->status, call->content_type, std::move(call->body));
    for (const auto& [name, value] : call->headers) reply.set(name, value);
    co_return reply;
}

std::string_view path_of(std::string_view target) { return target.substr(0, target.find('?')); }

std::size_t body_limit(const Shared& shared, std::string_view target) {
    const HttpRoute* route = shared.route_of(target);
    return route != nullptr ? route->body_max : shared.options.body_max;
}

net::awaitable<void> write_reply(HttpConnection& connection, Shared& shared, ReplyMessage& reply, bool head_only) {
    reply.prepare_payload();
    if (head_only) reply.body().clear();
    connection.hold(reply.body().size());
    connection.stream.tcp().expires_after(shared.options.read_timeout);
    http::response_serializer<http::string_body> serializer(reply);
    if (head_only) {
        co_await http::async_write_header(connection.stream, serializer, net::use_awaitable);
    } else {
        co_await http::async_write(connection.stream, serializer, net::use_awaitable);
    }
}

/// Sends the last answer of the connection.
net::awaitable<void> end_with(HttpConnection& connection, Shared& shared, const HttpMessage& request, unsigned status,
                              std::string why) {
    ReplyMessage reply = make_reply(request, status, "text/plain", std::move(why));
    reply.keep_alive(false);
    add_cors(shared, request, reply);
    co_await write_reply(connection, shared, reply, false);
}

net::awaitable<void> refuse(HttpConnection& connection, Shared& shared, const HttpMessage& request, unsigned status,
                            std::string why) {
    shared.count_refused();
    co_await end_with(connection, shared, request, status, std::move(why));
}

constexpr const char* kForeign =
    "this origin is not listed (--cors; a name or private address of this node: --rpc-allow-host)\n";
constexpr const char* kNoSuchPath = "no such path\n";

/// Whether to refuse a request that a script of a foreign page may have sent. Requests that only read are allowed,
/// because browsers hide the answers from other origins (add_cors); a WebSocket upgrade is checked separately.
bool is_forbidden(const Shared& shared, const HttpMessage& request) {
    const http::verb method = request.method();
    const bool reads = method == http::verb::get || method == http::verb::head || method == http::verb::options;
    return !reads && shared.is_foreign(request);
}

/// Checks a head; if it is faulty, answers with an error that ends the connection, and returns true.
net::awaitable<bool> refuse_head(HttpConnection& connection, Shared& shared, const HttpMessage& head) {
    const std::string_view target = text(head.target());
    if (const auto fault = fault_of_head(head, target, head.version(), shared.options.hosts)) {
        std::string why(text_of(*fault));
        if (*fault == HeadFault::host_not_listed) {
            why += ": reach this port as localhost or 127.0.0.1";
            if (shared.options.json_rpc) why += ", or start the node with --rpc-allow-host NAME";
        }
        co_await refuse(connection, shared, head, status_of(*fault), why + "\n");
        co_return true;
    }
    if (path_of(target) == "/" || shared.route_of(target) != nullptr) co_return false;
    co_await end_with(connection, shared, head, 404,
                      shared.options.json_rpc ? "no such path: JSON-RPC is at /\n" : kNoSuchPath);
    co_return true;
}

net::awaitable<ReplyMessage> answer(HttpConnection& connection, Shared& shared, HttpMessage& request) {
    if (is_forbidden(shared, request)) {
        shared.count_refused();
        co_return make_reply(request, 403, "text/plain", kForeign);
    }
    const bool reads = request.method() == http::verb::get || request.method() == http::verb::head;
    const HttpRoute* route = shared.route_of(text(request.target()));
    if (route == nullptr && reads && shared.page) route = &*shared.page;
    if (route == nullptr && !shared.options.json_rpc) co_return make_reply(request, 404, "text/plain", kNoSuchPath);
    if (route == nullptr || request.method() == http::verb::options) {
        co_return co_await answer_rpc(connection, shared, request);
    }
    co_return co_await answer_route(connection, shared, *route, request);
}

/// One step of a body: parses the buffered bytes and reads more. Beast's own function would read until it can parse
/// something, and those bytes would not be counted in the quota.
net::awaitable<boost::system::error_code> read_body_step(HttpConnection& connection, RequestParser& parser) {
    boost::system::error_code failed;
    beast::flat_buffer& buffer = connection.buffer;
    if (buffer.size() != 0) {
        buffer.consume(parser.put(buffer.data(), failed));
        if (failed != http::error::need_more) co_return failed;
        failed = {};
    }
    const std::size_t room = beast::read_size(buffer, kReadBytes);
    if (room == 0) co_return http::error::buffer_overflow;
    const std::size_t got = co_await connection.stream.async_read_some(buffer.prepare(room),
                                                                       net::redirect_error(net::use_awaitable, failed));
    buffer.commit(got);
    if (failed == net::error::eof) {
        failed = {};
        parser.put_eof(failed);
    }
    co_return failed;
}

/// Reads one request. nullopt: it was refused and answered, and the connection ends.
net::awaitable<std::optional<HttpMessage>> read_request(HttpConnection& connection, Shared& shared, bool first) {
    RequestParser parser;
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());  // the route's own limit is set after the head
    const auto& options = shared.options;
    connection.stream.tcp().expires_after(first ? options.read_timeout : options.idle_timeout);
    shared.begin_wait(connection.id);
    co_await http::async_read_header(connection.stream, connection.buffer, parser, net::use_awaitable);
    shared.begin_request(connection.id);

    if (co_await refuse_head(connection, shared, parser.get())) co_return std::nullopt;
    const std::size_t limit = body_limit(shared, text(parser.get().target()));
    if (parser.content_length().value_or(0) > limit) {
        co_await refuse(connection, shared, parser.get(), 413, "the body is over the limit\n");
        co_return std::nullopt;
    }
    parser.body_limit(limit);
    connection.stream.tcp().expires_after(options.read_timeout);
    if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
        http::response<http::string_body> continue_reply{http::status::continue_, parser.get().version()};
        co_await http::async_write(connection.stream, continue_reply, net::use_awaitable);
    }
    boost::system::error_code failed;
    parser.eager(true);
    while (!parser.is_done() && !failed) {
        failed = co_await read_body_step(connection, parser);
        connection.hold(parser.get().body().size());
    }
    if (failed == http::error::body_limit) {
        co_await refuse(connection, shared, parser.get(), 413, "the body is over the limit\n");
        co_return std::nullopt;
    }
    if (failed) throw boost::system::system_error(failed);
    connection.buffer.shrink_to_fit();
    connection.hold(parser.get().body().size());
    co_return parser.release();
}

/// Returns the request that turns the connection into a WebSocket; nullopt when the connection is done.
net::awaitable<std::optional<HttpMessage>> serve_requests(HttpConnection& connection, Shared& shared) {
    for (bool first = true;; first = false) {
        std::optional<HttpMessage> request = co_await read_request(connection, shared, first);
        const bool upgrades = request && beast::websocket::is_upgrade(*request);
        const bool has_websockets = shared.options.json_rpc;
        if (upgrades && (!has_websockets || path_of(text(request->target())) != "/" || shared.is_foreign(*request))) {
            const bool foreign = shared.is_foreign(*request);
            co_await refuse(connection, shared, *request, foreign ? 403 : 404,
                            foreign          ? kForeign
                            : has_websockets ? "WebSockets are at /\n"
                                             : kNoSuchPath);
            co_return std::nullopt;
        }
        if (!request || upgrades) {
            connection.buffer.clear();
            connection.buffer.shrink_to_fit();
            connection.held.set(0);
            co_return request;
        }
        ReplyMessage reply = co_await answer(connection, shared, *request);
        add_cors(shared, *request, reply);
        co_await write_reply(connection, shared, reply, request->method() == http::verb::head);
        connection.hold(0);
        if (!reply.keep_alive()) co_return std::nullopt;
    }
}

/// Whether the bytes are not HTTP, which is answered; a timeout, a reset or an end of stream is not.
bool is_malformed(const boost::system::error_code& code) {
    return code.category() == http::make_error_code(http::error::bad_method).category() &&
           code != http::error::end_of_stream && code != http::error::partial_message;
}

/// `place` is a parameter because the connection has it until the coroutine ends.
net::awaitable<void> serve_connection(Shared& shared, std::shared_ptr<HttpConnection> connection,
                                      ConnectionPlace place) {
    std::optional<HttpMessage> upgrade;
    bool malformed = false;
    try {
        if (connection->stream.is_tls()) {
            connection->stream.tcp().expires_after(shared.options.read_timeout);
            co_await connection->stream.async_handshake(net::ssl::stream_base::server, net::use_awaitable);
        }
        upgrade = co_await serve_requests(*connection, shared);
    } catch (const boost::system::system_error& e) {
        malformed = is_malformed(e.code());
    } catch (const std::exception& e) {
        spdlog::error("event=connection_bug what=\"{}\"", e.what());
    }
    if (upgrade) {
        connection->upgraded = true;
        co_await serve_websocket(shared, std::move(connection->stream), std::move(*upgrade), connection->client,
                                 place.id());
        co_return;
    }
    if (malformed) {
        try {
            co_await refuse(*connection, shared, HttpMessage(http::verb::get, "/", 11), 400, "not an HTTP request\n");
        } catch (const std::exception&) {
            // The client has disconnected or is over its quota; nobody can be answered.
        }
    }
    boost::system::error_code ignored;
    connection->stream.tcp().socket().shutdown(net::ip::tcp::socket::shutdown_send, ignored);
}

}  // namespace

net::awaitable<void> serve_http(Shared& shared, tls::Stream stream, std::string client, ConnectionPlace place) {
    // Registered before the coroutine first runs, so that it can be closed for one of a burst of newcomers.
    auto connection = std::make_shared<HttpConnection>(shared, std::move(stream), std::move(client), place.id());
    shared.add(connection);
    return serve_connection(shared, std::move(connection), std::move(place));
}

}  // namespace retrace::node::rpc
