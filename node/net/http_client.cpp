// SPDX-License-Identifier: MIT
#include "node/net/http_client.hpp"

#include <openssl/ssl.h>

#include <algorithm>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "node/net/tls_stream.hpp"

namespace retrace::node {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using Body = http::vector_body<std::uint8_t>;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kReplyHeaderBytesMax = 8 << 10;
/// Limit on received bytes that are not parsed yet, because the head of a chunk has no limit of its own.
constexpr std::size_t kReplyBufferMax = 1 << 20;

constexpr std::chrono::seconds kNameTime{8};  ///< For the system's resolver, whose own timeout may be 30 seconds.
constexpr std::chrono::seconds kConnectTime{3};
constexpr std::chrono::milliseconds kLookTime{50};  ///< Interval at which the token is polled.

using Endpoints = tcp::resolver::results_type;

/// A DNS lookup on a detached thread. The system's resolver cannot be cancelled, and another party's name may lead to a
/// server that never answers, so a caller that times out leaves the thread behind.
struct Lookup {
    std::mutex mutex;
    std::condition_variable ended;
    bool done = false;
    Endpoints found;
    beast::error_code code;

    static std::shared_ptr<Lookup> start(const Url& url) {
        auto lookup = std::make_shared<Lookup>();
        try {
            std::thread([lookup, host = url.host, port = url.port] { lookup->ask(host, port); }).detach();
        } catch (const std::system_error& no_thread) {
            lookup->code = no_thread.code();
            lookup->done = true;
        }
        return lookup;
    }

    /// Must not throw, because that would end the process.
    void ask(const std::string& host, const std::string& port) noexcept {
        Endpoints endpoints;
        beast::error_code failed;
        try {
            asio::io_context context;
            endpoints = tcp::resolver(context).resolve(host, port, failed);
        } catch (const std::exception&) {  // E.g. no memory or no file descriptor.
            failed = asio::error::make_error_code(asio::error::no_memory);
        }
        const std::lock_guard lock(mutex);
        found = std::move(endpoints);
        code = failed;
        done = true;
        ended.notify_all();
    }
};

}  // namespace

// Beast's synchronous operations have no timeouts, so the asynchronous ones are run to completion on a private context.
struct HttpConnection::Impl {
    Impl(Url url_in, std::string address_in) : url(std::move(url_in)), address(std::move(address_in)) {}

    /// Runs the started operation until it ends; its handler stores the result in `code`.
    Status<Failure> run(const beast::error_code& code, const char* what) {
        context.restart();
        bool stopped = false;
        while (!context.stopped()) {
            context.run_for(kLookTime);
            if (stopped || context.stopped() || !stop.stop_requested()) continue;
            stopped = true;
            stream->tcp().close();  // Aborts the running operation.
        }
        const std::string peer = url.host + ":" + url.port;
        if (stopped) return failure(Fault::timeout, peer + ": the time for fetching is over: " + what);
        if (!code) return Unit{};
        if (code == beast::error::timeout) return failure(Fault::timeout, peer + " was too slow: " + what);
        if (code == http::error::body_limit || code == http::error::header_limit) {
            return failure(Fault::too_large, peer + " sent more than was asked for");
        }
        if (code.category() == http::make_error_code(http::error::bad_version).category() &&
            code != http::error::end_of_stream && code != http::error::partial_message) {
            return failure(Fault::malformed, peer + " does not speak HTTP: " + code.message());
        }
        // A TLS error, e.g. an untrusted certificate, is not retried, so it is not `unreachable`.
        const bool tls = code.category() == asio::error::get_ssl_category();
        return failure(tls ? Fault::refused : Fault::unreachable, peer + ": " + what + ": " + code.message());
    }

    Result<Endpoints, Failure> resolve(Clock::time_point until) {
        beast::error_code code;
        const auto number = asio::ip::make_address(address.empty() ? url.host : address, code);
        if (!code) {
            const auto port = static_cast<std::uint16_t>(std::stoul(url.port));
            return Endpoints::create(tcp::endpoint(number, port), url.host, url.port);
        }
        if (!address.empty()) return failure(Fault::malformed, address + " is no IP address");
        until = std::min(until, Clock::now() + kNameTime);
        const auto lookup = Lookup::start(url);
        std::unique_lock lock(lookup->mutex);
        while (!lookup->done) {
            const auto now = Clock::now();
            const bool stopped = stop.stop_requested();
            if (stopped || now >= until)
                return failure(Fault::timeout, url.host + (stopped ? ": the time for fetching is over" : "") +
                                                   ": the name was not resolved in time");
            lookup->ended.wait_until(lock, std::min(until, now + kLookTime));
        }
        if (lookup->code) return failure(Fault::unreachable, url.host + ": " + lookup->code.message());
        return std::move(lookup->found);
    }

    Status<Failure> connect(Clock::time_point until) {
        buffer.clear();
        stream.emplace(beast::tcp_stream(context), nullptr);
        beast::error_code code;
        RETRACE_TRY(found, resolve(until));
        stream->tcp().expires_at(std::min(until, Clock::now() + kConnectTime));
        stream->tcp().async_connect(found, [&](beast::error_code done, const auto&) { code = done; });
        RETRACE_CHECK(run(code, "cannot connect"));
        beast::error_code ignored;
        stream->tcp().socket().set_option(tcp::no_delay(true), ignored);
        if (!url.tls) return Unit{};
        if (!trust) {  // After connecting, because authorities take milliseconds to read.
            auto made = tls::client_context(url.trust, url.host);
            if (!made) return failure(Fault::unreachable, made.error().message);
            trust = std::move(made).value();
        }
        stream->use_tls(*trust);
        stream->tcp().expires_at(until);
        SSL_set_tlsext_host_name(stream->ssl(), url.host.c_str());
        stream->async_handshake(asio::ssl::stream_base::client, [&](beast::error_code done) { code = done; });
        return run(code, "no TLS with this node, or not the one that is trusted");
    }

    Result<HttpReply, Failure> once(http::request<Body>& message, std::size_t limit, Clock::time_point until) {
        if (!stream) {
            const auto connected = connect(until);
            if (!connected) stream.reset();
            RETRACE_CHECK(connected);
        }
        beast::error_code code;
        stream->tcp().expires_at(until);
        http::async_write(*stream, message, [&](beast::error_code done, std::size_t) { code = done; });
        const auto written = run(code, "cannot send");
        // A server that refuses an upload answers before it has read all of it, so the reply is read even if the write
        // failed.
        if (!written && written.error().fault != Fault::unreachable) return Unexpected{written.error()};
        http::response_parser<Body> parser;
        parser.header_limit(kReplyHeaderBytesMax);
        parser.body_limit(limit);
        stream->tcp().expires_at(until);
        http::async_read(*stream, buffer, parser, [&](beast::error_code done, std::size_t) { code = done; });
        RETRACE_CHECK(run(code, "no reply"));
        auto reply = parser.release();
        if (!written || !reply.keep_alive()) stream.reset();
        return HttpReply{reply.result_int(), std::string(reply[http::field::content_type]), std::move(reply.body())};
    }

    Url url;
    const std::string address;  ///< Empty: those of `url`.
    kernels::StopToken stop;    ///< That of the current exchange.
    asio::io_context context{1};
    std::shared_ptr<asio::ssl::context> trust;
    std::optional<tls::Stream> stream;
    beast::flat_buffer buffer{kReplyBufferMax};
};

HttpConnection::HttpConnection(Url url) : HttpConnection(std::move(url), {}) {}
HttpConnection::HttpConnection(Url url, std::string address)
    : impl_(std::make_unique<Impl>(std::move(url), std::move(address))) {}
HttpConnection::~HttpConnection() = default;
HttpConnection::HttpConnection(HttpConnection&&) noexcept = default;
HttpConnection& HttpConnection::operator=(HttpConnection&&) noexcept = default;

Result<HttpReply, Failure> HttpConnection::exchange(const HttpRequest& request, std::size_t reply_limit,
                                                    const kernels::StopToken& stop) {
    const auto until = stop.deadline().value_or(Clock::time_point::max());
    impl_->stop = stop;
    http::request<Body> message;
    message.version(11);
    message.method_string(request.method);
    message.target(request.target);
    const std::string& host = impl_->url.host;
    const bool v6 = host.find(':') != std::string::npos;
    message.set(http::field::host, (v6 ? "[" + host + "]" : host) + ":" + impl_->url.port);
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
