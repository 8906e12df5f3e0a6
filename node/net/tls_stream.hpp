// SPDX-License-Identifier: MIT
// A TCP connection with or without TLS as one type, so that HTTP and WebSocket need not distinguish them.
// Its operations take type-erased handlers and are compiled once, in tls_stream.cpp: as templates they took most of the
// compile time of the files that use them.
#pragma once

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/flat_stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <memory>
#include <optional>

namespace retrace::node::tls {

/// A type-erased completion handler for an error code and a number of bytes. Called once, on the executor of the
/// wrapped handler.
class IoHandler {
public:
    using executor_type = boost::asio::any_io_executor;
    using cancellation_slot_type = boost::asio::cancellation_slot;

    template <class Handler>
    IoHandler(executor_type executor, cancellation_slot_type slot, Handler handler)
        : executor_(std::move(executor)), slot_(slot), call_(std::make_unique<Of<Handler>>(std::move(handler))) {}

    executor_type get_executor() const noexcept { return executor_; }
    cancellation_slot_type get_cancellation_slot() const noexcept { return slot_; }
    void operator()(boost::beast::error_code code, std::size_t bytes) {
        // Moved out first, because the handler may start the next operation.
        const auto call = std::move(call_);
        call->run(code, bytes);
    }

private:
    struct Call {
        virtual ~Call() = default;
        virtual void run(boost::beast::error_code code, std::size_t bytes) = 0;
    };
    template <class Handler>
    struct Of final : Call {
        explicit Of(Handler h) : handler(std::move(h)) {}
        void run(boost::beast::error_code code, std::size_t bytes) override { std::move(handler)(code, bytes); }
        Handler handler;
    };

    executor_type executor_;
    cancellation_slot_type slot_;
    std::unique_ptr<Call> call_;
};

/// The first 16 non-empty buffers of a sequence, passed to one system call.
template <class Buffer>
struct FirstBuffers {
    template <class Buffers>
    explicit FirstBuffers(const Buffers& buffers) {
        auto next = boost::asio::buffer_sequence_begin(buffers);
        const auto end_of_all = boost::asio::buffer_sequence_end(buffers);
        for (; next != end_of_all && count < parts.size(); ++next)
            if (const Buffer part(*next); part.size() != 0) parts[count++] = part;
    }
    // Names that Asio requires.
    using value_type = Buffer;
    using const_iterator = const Buffer*;
    const Buffer* begin() const noexcept { return parts.data(); }
    const Buffer* end() const noexcept { return parts.data() + count; }

    std::array<Buffer, 16> parts;
    std::size_t count = 0;
};

/// An AsyncStream in Asio's terms. Movable. Timeouts are set on `tcp()`, below TLS.
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

    /// Goes on with TLS; the handshake follows. `context` outlives the stream.
    void use_tls(boost::asio::ssl::context& context) { layers_->tls.emplace(layers_->tcp, context); }

    bool is_tls() const noexcept { return layers_->tls.has_value(); }
    Tcp& tcp() noexcept { return layers_->tcp; }
    /// Only with TLS.
    SSL* ssl() noexcept { return layers_->tls->next_layer().native_handle(); }

    // Names that Beast and Asio require.
    executor_type get_executor() noexcept { return layers_->tcp.get_executor(); }
    Tcp& next_layer() noexcept { return layers_->tcp; }
    const Tcp& next_layer() const noexcept { return layers_->tcp; }

    /// Only with TLS.
    template <class Token>
    auto async_handshake(Handshake type, Token&& token) {
        return boost::asio::async_initiate<Token, void(boost::beast::error_code)>(
            [this](auto handler, Handshake side) {
                auto executor = boost::asio::get_associated_executor(handler, get_executor());
                const auto slot = boost::asio::get_associated_cancellation_slot(handler);
                auto ended = [handler = std::move(handler)](boost::beast::error_code code, std::size_t) mutable {
                    std::move(handler)(code);
                };
                handshake(side, IoHandler(std::move(executor), slot, std::move(ended)));
            },
            token, type);
    }
    template <class Buffers, class Token>
    auto async_read_some(const Buffers& buffers, Token&& token) {
        return boost::asio::async_initiate<Token, void(boost::beast::error_code, std::size_t)>(
            [this](auto handler, MutableBuffers into) { read_some(into, erased(std::move(handler))); }, token,
            MutableBuffers(buffers));
    }
    template <class Buffers, class Token>
    auto async_write_some(const Buffers& buffers, Token&& token) {
        return boost::asio::async_initiate<Token, void(boost::beast::error_code, std::size_t)>(
            [this](auto handler, ConstBuffers from) { write_some(from, erased(std::move(handler))); }, token,
            ConstBuffers(buffers));
    }

private:
    using MutableBuffers = FirstBuffers<boost::asio::mutable_buffer>;
    using ConstBuffers = FirstBuffers<boost::asio::const_buffer>;

    template <class Handler>
    IoHandler erased(Handler handler) {
        auto executor = boost::asio::get_associated_executor(handler, get_executor());
        const auto slot = boost::asio::get_associated_cancellation_slot(handler);
        return IoHandler(std::move(executor), slot, std::move(handler));
    }
    void handshake(Handshake side, IoHandler handler);
    void read_some(const MutableBuffers& into, IoHandler handler);
    void write_some(const ConstBuffers& from, IoHandler handler);

    // The flat stream joins small buffers, so that a head and its body form one TLS record.
    using Tls = boost::beast::flat_stream<boost::asio::ssl::stream<Tcp&>>;
    struct Layers {
        explicit Layers(Tcp t) : tcp(std::move(t)) {}
        Tcp tcp;
        std::optional<Tls> tls;
    };
    std::unique_ptr<Layers> layers_;  // on the heap, because `tls` refers to `tcp`
};

// Beast's WebSocket closes a connection through these. The close frames have been exchanged by then, so TCP can be
// closed without a TLS shutdown.
inline void teardown(boost::beast::role_type role, Stream& stream, boost::beast::error_code& code) {
    boost::beast::websocket::teardown(role, stream.tcp().socket(), code);
}
template <class Handler>
void async_teardown(boost::beast::role_type role, Stream& stream, Handler&& handler) {
    boost::beast::websocket::async_teardown(role, stream.tcp().socket(), std::forward<Handler>(handler));
}

}  // namespace retrace::node::tls
