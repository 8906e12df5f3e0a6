// SPDX-License-Identifier: MIT
#include "node/net/tls_stream.hpp"

#include <boost/asio/bind_executor.hpp>

namespace retrace::node::tls {

void Stream::handshake(Handshake side, IoHandler handler) {
    const auto executor = handler.get_executor();
    auto ended = [handler = std::move(handler)](boost::beast::error_code code) mutable { handler(code, 0); };
    layers_->tls->next_layer().async_handshake(side, boost::asio::bind_executor(executor, std::move(ended)));
}

void Stream::read_some(const MutableBuffers& into, IoHandler handler) {
    if (layers_->tls)
        layers_->tls->async_read_some(into, std::move(handler));
    else
        layers_->tcp.async_read_some(into, std::move(handler));
}

void Stream::write_some(const ConstBuffers& from, IoHandler handler) {
    if (layers_->tls)
        layers_->tls->async_write_some(from, std::move(handler));
    else
        layers_->tcp.async_write_some(from, std::move(handler));
}

}  // namespace retrace::node::tls
