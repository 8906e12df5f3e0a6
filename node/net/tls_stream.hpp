// SPDX-License-Identifier: MIT
// A TCP connection with or without TLS, as one type: HTTP and WebSocket above it need not know which.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <memory>
#include <optional>

namespace retrace::node::tls {

/// What Asio calls an AsyncStream. Movable. Time-outs are those of `tcp()`, below TLS.
class Stream {
public:
    using Tcp = boost::beast::tcp_stream;
    using executor_type = Tcp::executor_type;
    using next_layer_type = Tcp;
    using Handshake = boost::asio::ssl::stream_base::handshake_type;

    /// `context` outlives the stream; nullptr: no TLS.
    Stream(Tcp tcp, boost::asio::ssl::context* context) : layers_(std::make_unique<Layers>(std::move(tcp))) {
        if (context != nullptr) layers_->tls.emplace(layers_->tcp, *context);
    }

    bool is_tls() const noexcept { return layers_->tls.has_value(); }
    Tcp& tcp() noexcept { return layers_->tcp; }
    /// Only with TLS.
    SSL* ssl() noexcept { return layers_->tls->next_layer().native_handle(); }

    // The names that Beast and Asio look for.
    executor_type get_executor() noexcept { return layers_->tcp.get_executor(); }
    Tcp& next_layer() noexcept { return layers_->tcp; }
    const Tcp& next_layer() const noexcept { return layers_->tcp; }

    /// Only with TLS.
    template <class Token>
    auto async_handshake(Handshake type, Token&& token) {
        return layers_->tls->next_layer().async_handshake(type, std::forward<Token>(token));
    }
    template <class Buffers, class Token>
    auto async_read_some(const Buffers& buffers, Token&& token) {
        if (layers_->tls) return layers_->tls->async_read_some(buffers, std::forward<Token>(token));
        return layers_->tcp.async_read_some(buffers, std::forward<Token>(token));
    }
    template <class Buffers, class Token>
    auto async_write_some(const Buffers& buffers, Token&& token) {
        if (layers_->tls) return layers_->tls->async_write_some(buffers, std::forward<Token>(token));
        return layers_->tcp.async_write_some(buffers, std::forward<Token>(token));
    }

private:
    // The flat stream joins small buffers, so that a head and its body make one record.
    using Tls = boost::beast::flat_stream<boost::asio::ssl::stream<Tcp&>>;
    struct Layers {
        explicit Layers(Tcp t) : tcp(std::move(t)) {}
        Tcp tcp;
        std::optional<Tls> tls;
    };
    std::unique_ptr<Layers> layers_;  // stays where it is: `tls` refers to `tcp`
};

// Beast's WebSocket ends a connection through these. The close frames were exchanged before, so nothing is
// lost by ending TCP without TLS's own farewell.
inline void teardown(boost::beast::role_type role, Stream& stream, boost::beast::error_code& code) {
    boost::beast::websocket::teardown(role, stream.tcp().socket(), code);
}
template <class Handler>
void async_teardown(boost::beast::role_type role, Stream& stream, Handler&& handler) {
    boost::beast::websocket::async_teardown(role, stream.tcp().socket(), std::forward<Handler>(handler));
}

}  // namespace retrace::node::tls
