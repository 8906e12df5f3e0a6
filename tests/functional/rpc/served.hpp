// SPDX-License-Identifier: MIT
// A server on loopback, and clients that a test controls byte by byte.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <thread>

#include "node/server/http/server.hpp"
#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node::test {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = net::ip::tcp;
using testing::HasSubstr;

inline const std::string kChainId = R"({"jsonrpc":"2.0","id":1,"method":"eth_chainId"})";

struct Served {
    explicit Served(rpc::ServerOptions options = {}, const ledger::TxExecutor* rules = nullptr) : world(rules) {
        options.port = 0;
        if (options.cors_origins.empty()) options.cors_origins = {"https://wallet.example"};
        server = std::make_unique<rpc::Server>(std::move(options), *world.dispatcher);
        server->route({"/hello", 10, [this](const HttpRequest& request) {
                           const std::string body(request.body.begin(), request.body.end());
                           if (body == "throw") throw std::runtime_error("bug");
                           if (body == "wait") on_wait();
                           return echo(request);
                       }});
        server->route({"/under/", 10, echo});
        const auto bound = server->bind();
        EXPECT_TRUE(bound.has_value());
        port = *bound;
        server->serve();
        Listener listener;
        listener.on_block = [this](const auto& block) { server->publish(block); };
        listener.on_pending = [this](const ledger::TxPtr& tx) { server->publish(tx); };
        world.application->listen(std::move(listener));
    }

    static HttpReply echo(const HttpRequest& request) {
        const std::string body(request.body.begin(), request.body.end());
        return {200, "text/plain", to_bytes(view(request.method + " " + request.target + " " + body))};
    }

    std::function<void()> on_wait;  ///< Called in /hello for a body with that word.
    RpcWorld world;
    std::unique_ptr<rpc::Server> server;
    std::uint16_t port = 0;
};

/// Every address of 127.0.0.0/8 belongs to this machine, and counts as a separate client on a server that limits
/// loopback. Reads time out after ten seconds.
inline void connect(tcp::socket& socket, std::uint16_t port, const std::string& from) {
    socket.open(tcp::v4());
    socket.bind({net::ip::make_address(from), 0});
    socket.connect({net::ip::make_address("127.0.0.1"), port});
    timeval timeout{10, 0};
    ::setsockopt(socket.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
}

/// A blocking client.
class Client {
public:
    explicit Client(std::uint16_t port, const std::string& from = "127.0.0.1") : socket_(io_) {
        connect(socket_, port, from);
    }

    void write(const std::string& bytes) { net::write(socket_, net::buffer(bytes)); }

    using Reply = http::response<http::string_body>;
    Reply read() {
        Reply reply;
        http::read(socket_, buffer_, reply);
        return reply;
    }
    Reply post(const std::string& body, const std::string& type = "application/json", const std::string& more = "") {
        write("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: " + type +
              "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + more + "\r\n" + body);
        return read();
    }
    Reply request(const std::string& line, const std::string& headers = "", const std::string& body = "") {
        write(line + " HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n" + body);
        return read();
    }
    bool closed() {
        char byte = 0;
        boost::system::error_code failed;
        socket_.read_some(net::buffer(&byte, 1), failed);
        return failed == net::error::eof || failed == net::error::connection_reset;
    }

private:
    net::io_context io_;
    tcp::socket socket_;
    beast::flat_buffer buffer_;
};

class WsClient {
public:
    /// Names and values of the upgrade request.
    using Fields = std::vector<std::pair<std::string, std::string>>;

    explicit WsClient(std::uint16_t port, const std::string& origin = "", const std::string& from = "127.0.0.1")
        : WsClient(port, origin.empty() ? Fields{} : Fields{{"Origin", origin}}, from) {}
    WsClient(std::uint16_t port, const Fields& fields, const std::string& from = "127.0.0.1") : ws_(io_) {
        connect(ws_.next_layer(), port, from);
        ws_.set_option(beast::websocket::stream_base::decorator([fields](beast::websocket::request_type& request) {
            for (const auto& [name, value] : fields) request.set(name, value);
        }));
        ws_.handshake("localhost", "/");
    }
    void write(const std::string& message) { ws_.write(net::buffer(message)); }
    json::value read() {
        beast::flat_buffer buffer;
        ws_.read(buffer);
        return json::parse(beast::buffers_to_string(buffer.data()));
    }
    json::value call(const std::string& method, json::array params) {
        write(json::serialize(
            json::object{{"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", std::move(params)}}));
        return read().at("result");
    }

private:
    net::io_context io_;
    beast::websocket::stream<tcp::socket> ws_;
};

}  // namespace retrace::node::test
