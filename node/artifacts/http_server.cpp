// SPDX-License-Identifier: MIT
#include "node/artifacts/http_server.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <optional>
#include <thread>

namespace retrace::node {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using Body = http::vector_body<std::uint8_t>;

constexpr std::uint32_t kHeaderBytesMax = 8 << 10;
constexpr std::size_t kLingerBytesMax = 8 << 20;
constexpr std::chrono::seconds kLingerTime{2};

/// One connection; lives as long as an operation of it is under way.
class Session : public std::enable_shared_from_this<Session> {
public:
    Session(tcp::socket socket, ArtifactServer& server, const ArtifactHttpServer::Options& options,
            std::size_t& open)
        : stream_(std::move(socket)), server_(server), options_(options), open_(open) {
        ++open_;
    }
    ~Session() { --open_; }

    void read_header() {
        parser_.emplace();
        parser_->header_limit(kHeaderBytesMax);
        parser_->body_limit(
            boost::none);  // Set in read_body, once the path is known; no body is read before.
        stream_.expires_after(options_.idle);
        http::async_read_header(stream_, buffer_, *parser_,
                                beast::bind_front_handler(&Session::read_body, shared_from_this()));
    }

private:
    void read_body(beast::error_code code, std::size_t) {
        if (code) return;
        const auto& head = parser_->get();
        const std::size_t limit = server_.body_limit(to_view(head.method_string()), to_view(head.target()));
        const bool announced = parser_->content_length() && *parser_->content_length() > 0;
        if ((announced && *parser_->content_length() > limit) || (parser_->chunked() && limit == 0)) {
            // The body stays unread, so the connection cannot be used for another request.
            const Failure reason = limit == 0 ? Failure{Fault::not_wanted, "this upload is not wanted"}
                                              : Failure{Fault::too_large, "the body is over the limit"};
            return write(refusal(reason), false);
        }
        parser_->body_limit(limit);
        stream_.expires_after(options_.exchange);
        http::async_read(stream_, buffer_, *parser_,
                         beast::bind_front_handler(&Session::answer, shared_from_this()));
    }

    void answer(beast::error_code code, std::size_t) {
        if (code == http::error::body_limit) {
            return write(refusal({Fault::too_large, "the body is over the limit"}), false);
        }
        if (code) return;
        auto message = parser_->release();
        const bool keep_alive = message.keep_alive();
        write(server_.handle({std::string(message.method_string()), std::string(message.target()),
                              std::move(message.body())}),
              keep_alive);
    }

    void write(HttpReply reply, bool keep_alive) {
        reply_ = {};
        reply_.version(11);
        reply_.result(reply.status);
        reply_.set(http::field::content_type, reply.content_type);
        reply_.keep_alive(keep_alive);
        reply_.body() = std::move(reply.body);
        reply_.prepare_payload();
        stream_.expires_after(options_.exchange);
        http::async_write(stream_, reply_,
                          [self = shared_from_this(), keep_alive](beast::error_code code, std::size_t) {
                              if (code) return;
                              keep_alive ? self->read_header() : self->close();
                          });
    }

    /// Ends our side, then reads what the peer still sends for a moment: closing over unread bytes would
    /// reset the connection, and the peer would lose the refusal.
    void close() {
        beast::error_code ignored;
        stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
        stream_.expires_after(kLingerTime);
        linger();
    }

    void linger() {
        buffer_.clear();
        stream_.async_read_some(buffer_.prepare(kHeaderBytesMax),
                                [self = shared_from_this()](beast::error_code code, std::size_t size) {
                                    self->lingered_ += size;
                                    if (!code && self->lingered_ < kLingerBytesMax) self->linger();
                                });
    }

    static std::string_view to_view(beast::string_view text) { return {text.data(), text.size()}; }

    beast::tcp_stream stream_;
    ArtifactServer& server_;
    const ArtifactHttpServer::Options& options_;
    std::size_t& open_;
    beast::flat_buffer buffer_;
    std::optional<http::request_parser<Body>> parser_;
    http::response<Body> reply_;
    std::size_t lingered_ = 0;
};

}  // namespace

struct ArtifactHttpServer::Impl {
    Impl(ArtifactServer& server_in, const Options& options_in) : server(server_in), options(options_in) {}

    void accept() {
        acceptor.async_accept([this](beast::error_code code, tcp::socket socket) {
            if (code == asio::error::operation_aborted) return;
            if (!code && open < options.connections) {
                beast::error_code ignored;
                socket.set_option(tcp::no_delay(true), ignored);
                std::make_shared<Session>(std::move(socket), server, options, open)->read_header();
            }
            accept();
        });
    }

    ArtifactServer& server;
    Options options;
    std::size_t open = 0;  ///< Declared before the context, whose destruction ends the last sessions.
    asio::io_context context{1};
    tcp::acceptor acceptor{context};
    std::thread thread;
};

ArtifactHttpServer::ArtifactHttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<ArtifactHttpServer>, Failure> ArtifactHttpServer::start(ArtifactServer& server,
                                                                               const Options& options) {
    auto impl = std::make_unique<Impl>(server, options);
    const std::string where = options.address + ":" + std::to_string(options.port);
    beast::error_code code;
    const auto address = asio::ip::make_address(options.address, code);
    if (code) return failure(Fault::malformed, options.address + ": not an IP address");
    const tcp::endpoint endpoint(address, options.port);
    impl->acceptor.open(endpoint.protocol(), code);
    if (!code) impl->acceptor.set_option(tcp::acceptor::reuse_address(true), code);
    if (!code) impl->acceptor.bind(endpoint, code);
    if (!code) impl->acceptor.listen(asio::socket_base::max_listen_connections, code);
    if (code) return failure(Fault::io, "cannot serve artifacts on " + where + ": " + code.message());
    impl->accept();
    impl->thread = std::thread([context = &impl->context] { context->run(); });
    return std::unique_ptr<ArtifactHttpServer>(new ArtifactHttpServer(std::move(impl)));
}

ArtifactHttpServer::~ArtifactHttpServer() {
    impl_->context.stop();
    impl_->thread.join();
}

std::uint16_t ArtifactHttpServer::port() const noexcept {
    beast::error_code code;
    return impl_->acceptor.local_endpoint(code).port();
}

std::string ArtifactHttpServer::url() const {
    const bool v6 = impl_->options.address.find(':') != std::string::npos;
    return "http://" + (v6 ? "[" + impl_->options.address + "]" : impl_->options.address) + ":" +
           std::to_string(port());
}

}  // namespace retrace::node
