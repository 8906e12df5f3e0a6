// SPDX-License-Identifier: MIT
#include "node/artifacts/http_client.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <optional>

namespace retrace::node {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using Body = http::vector_body<std::uint8_t>;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kHeaderBytesMax = 8 << 10;

bool is_port(std::string_view text) {
    if (text.empty() || text.size() > 5) return false;
    return text.find_first_not_of("0123456789") == std::string_view::npos &&
           std::stoul(std::string(text)) <= 65535;
}

}  // namespace

Result<Url, Failure> parse_url(std::string_view text) {
    const auto bad = [&] {
        return failure(Fault::malformed, "not an address of the form http://host:port: " + std::string(text));
    };
    constexpr std::string_view kScheme = "http://";
    if (!text.starts_with(kScheme) || text.size() > 300) return bad();
    std::string_view rest = text.substr(kScheme.size());
    if (rest.ends_with('/')) rest.remove_suffix(1);
    if (rest.find_first_of("/?#@ \t\r\n") != std::string_view::npos) return bad();
    std::string_view host = rest, port = "80";
    if (rest.starts_with('[')) {  // An IPv6 address.
        const auto end = rest.find(']');
        if (end == std::string_view::npos) return bad();
        host = rest.substr(1, end - 1);
        rest.remove_prefix(end + 1);
        if (!rest.empty() && rest.front() != ':') return bad();
        if (!rest.empty()) port = rest.substr(1);
    } else if (const auto at = rest.find(':'); at != std::string_view::npos) {
        host = rest.substr(0, at);
        port = rest.substr(at + 1);
    }
    if (host.empty() || !is_port(port)) return bad();
    return Url{std::string(host), std::string(port)};
}

// The synchronous operations of Beast know no timeouts, so the asynchronous ones run on a context of our own
// until they are done.
struct HttpConnection::Impl {
    explicit Impl(Url url_in) : url(std::move(url_in)) {}

    /// Runs what was started until it ends; `code` is what its handler left.
    Status<Failure> run(const beast::error_code& code, const char* what) {
        context.restart();
        context.run();
        if (!code) return Unit{};
        const std::string peer = url.host + ":" + url.port;
        if (code == beast::error::timeout) return failure(Fault::timeout, peer + " was too slow: " + what);
        if (code == http::error::body_limit || code == http::error::header_limit) {
            return failure(Fault::too_large, peer + " sent more than was asked for");
        }
        if (code.category() == http::make_error_code(http::error::bad_version).category() &&
            code != http::error::end_of_stream && code != http::error::partial_message) {
            return failure(Fault::malformed, peer + " does not speak HTTP: " + code.message());
        }
        return failure(Fault::unreachable, peer + ": " + what + ": " + code.message());
    }

    Status<Failure> connect(Clock::time_point until) {
        stream.emplace(context);
        buffer.clear();
        beast::error_code code;
        tcp::resolver resolver(context);
        // The system's resolver has a timeout of its own.
        const auto found = resolver.resolve(url.host, url.port, code);
        if (code) return failure(Fault::unreachable, url.host + ": " + code.message());
        stream->expires_at(until);
        stream->async_connect(found, [&](beast::error_code done, const auto&) { code = done; });
        RETRACE_CHECK(run(code, "cannot connect"));
        beast::error_code ignored;
        stream->socket().set_option(tcp::no_delay(true), ignored);
        return Unit{};
    }

    Result<HttpReply, Failure> once(http::request<Body>& message, std::size_t limit,
                                    Clock::time_point until) {
        if (!stream) RETRACE_CHECK(connect(until));
        beast::error_code code;
        stream->expires_at(until);
        http::async_write(*stream, message, [&](beast::error_code done, std::size_t) { code = done; });
        const auto written = run(code, "cannot send");
        // A server that refuses an upload answers before it has read all of it, so the reply is read in any
        // case.
        if (!written && written.error().fault != Fault::unreachable) return Unexpected{written.error()};
        http::response_parser<Body> parser;
        parser.header_limit(kHeaderBytesMax);
        parser.body_limit(limit);
        stream->expires_at(until);
        http::async_read(*stream, buffer, parser, [&](beast::error_code done, std::size_t) { code = done; });
        RETRACE_CHECK(run(code, "no reply"));
        auto reply = parser.release();
        if (!written || !reply.keep_alive()) stream.reset();
        return HttpReply{reply.result_int(), std::string(reply[http::field::content_type]),
                         std::move(reply.body())};
    }

    Url url;
    asio::io_context context{1};
    std::optional<beast::tcp_stream> stream;
    beast::flat_buffer buffer;
};

HttpConnection::HttpConnection(Url url) : impl_(std::make_unique<Impl>(std::move(url))) {}
HttpConnection::~HttpConnection() = default;
HttpConnection::HttpConnection(HttpConnection&&) noexcept = default;
HttpConnection& HttpConnection::operator=(HttpConnection&&) noexcept = default;

Result<HttpReply, Failure> HttpConnection::exchange(const HttpRequest& request, std::size_t reply_limit,
                                                    std::chrono::milliseconds deadline) {
    const auto until = Clock::now() + deadline;
    http::request<Body> message;
    message.version(11);
    message.method_string(request.method);
    message.target(request.target);
    message.set(http::field::host, impl_->url.host + ":" + impl_->url.port);
    message.keep_alive(true);
    message.set(http::field::content_type, request.content_type);
    if (!request.authorization.empty()) message.set(http::field::authorization, request.authorization);
    message.body() = request.body;
    message.prepare_payload();
    const bool kept = impl_->stream.has_value();
    auto reply = impl_->once(message, reply_limit, until);
    if (!reply) impl_->stream.reset();
    if (!reply && kept && reply.error().fault == Fault::unreachable) {
        reply = impl_->once(message, reply_limit, until);
        if (!reply) impl_->stream.reset();
    }
    return reply;
}

}  // namespace retrace::node
