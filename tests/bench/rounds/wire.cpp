// SPDX-License-Identifier: MIT
#include "tests/bench/rounds/wire.hpp"

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <thread>

#include "merkle/base/ensure.hpp"
#include "node/net/http_client.hpp"

namespace retrace::bench {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

/// The same fields as ArtifactSession::write.
std::string reply_head(std::size_t length) {
    http::response<http::empty_body> reply{http::status::ok, 11};
    reply.set(http::field::content_type, "application/octet-stream");
    reply.keep_alive(true);
    reply.content_length(length);
    std::ostringstream out;
    out << reply.base();
    return out.str();
}

}  // namespace

std::uint64_t exchanged_bytes(const std::vector<Bytes>& bodies) {
    asio::io_context context;
    asio::ip::tcp::acceptor acceptor(context, {asio::ip::make_address("127.0.0.1"), 0});
    std::atomic<std::uint64_t> bytes = 0;
    std::jthread server([&] {
        asio::ip::tcp::socket peer = acceptor.accept();
        asio::streambuf buffer;
        for (const Bytes& body : bodies) {
            const std::size_t request = asio::read_until(peer, buffer, "\r\n\r\n");
            buffer.consume(request);
            const std::string head = reply_head(body.size());
            bytes += request + head.size() + body.size();
            asio::write(peer, std::array{asio::buffer(head), asio::buffer(body)});
        }
    });
    node::HttpConnection connection(
        *node::parse_url("http://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port())));
    for (const Bytes& body : bodies) {
        const std::string root(64, 'a');
        const auto reply = connection.exchange({"GET", "/artifact/" + root + "/packed", {}}, body.size() + 1,
                                               kernels::StopToken::after(std::chrono::seconds(60)));
        ensure(reply.has_value() && reply->body == body, "the reply of a benchmark's server");
    }
    return bytes;
}

}  // namespace retrace::bench
