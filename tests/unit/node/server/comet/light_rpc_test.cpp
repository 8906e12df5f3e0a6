// SPDX-License-Identifier: MIT
// What a node passes on of CometBFT's RPC, which is played by a socket that sends back what it got.
#include "node/server/comet/light_rpc.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <boost/json.hpp>
#include <cstring>
#include <thread>

#include "merkle/base/durable_file.hpp"
#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node::test {
namespace {

using testing::HasSubstr;

/// Answers each connection once, with the body of its request.
class EchoServer {
public:
    explicit EchoServer(const std::string& path) : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path, path.data(), path.size());
        EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        EXPECT_EQ(::listen(listener_.get(), 16), 0);
        thread_ = std::thread([this] { serve(); });
    }
    ~EchoServer() {
        ::shutdown(listener_.get(), SHUT_RDWR);
        thread_.join();
    }

private:
    void serve() {
        for (;;) {
            const FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!socket) return;
            char buffer[8192];
            const ssize_t got = ::recv(socket.get(), buffer, sizeof buffer, 0);
            const std::string request(buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
            const std::string body = request.substr(request.find("\r\n\r\n") + 4);
            const std::string reply =
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
                body;
            write_all(socket.get(), view(std::string_view(reply)));
        }
    }

    FileDescriptor listener_;
    std::thread thread_;
};

class Light : public testing::Test {
protected:
    Light() : rpc_(folder_.file("rpc.sock")) {}
    HttpReply post(const std::string& body) {
        HttpRequest request;
        request.method = "POST";
        request.body = to_bytes(view(std::string_view(body)));
        return rpc_.route().handler(request);
    }
    static std::string text(const HttpReply& reply) { return {reply.body.begin(), reply.body.end()}; }

    TempFolder folder_;
    engine::LightRpc rpc_;
};

TEST_F(Light, PassesOnReadingMethodsOnly) {
    const EchoServer comet(folder_.file("rpc.sock"));
    for (const char* method : {"commit", "validators", "consensus_params"}) {
        const HttpReply reply = post(std::string(R"({"id":7,"method":")") + method + R"(","params":{"height":"5"}})");
        EXPECT_EQ(reply.status, 200U) << text(reply);
        EXPECT_EQ(json::parse(text(reply)),
                  (json::value{
                      {"jsonrpc", "2.0"}, {"id", 7}, {"method", method}, {"params", json::object{{"height", "5"}}}}));
    }
    EXPECT_EQ(json::parse(text(post(R"({"method":"commit","more":1})"))),
              (json::value{{"jsonrpc", "2.0"}, {"id", 0}, {"method", "commit"}, {"params", json::object()}}));
    for (const char* body :
         {"", "x", "[]", R"({"id":1})", R"({"method":7})", R"({"method":"net_info"})", R"({"method":"status"})",
          R"({"method":"dial_peers"})", R"({"method":"broadcast_tx_sync","params":{"tx":"AA=="}})",
          R"([{"method":"commit"}])", R"({"method":"commit","params":[]})", R"({"method":"commit","id":{}})"}) {
        const HttpReply reply = post(body);
        EXPECT_EQ(reply.status, 400U) << body;
        EXPECT_THAT(text(reply), HasSubstr("commit, consensus_params or validators")) << body;
    }
    EXPECT_EQ(rpc_.route().path, "/comet");
    EXPECT_EQ(rpc_.route().body_max, 1024U);
}

TEST_F(Light, SaysThatCometDoesNotAnswer) {
    const HttpReply reply = post(R"({"method":"commit"})");
    EXPECT_EQ(reply.status, 503U);
    EXPECT_THAT(text(reply), HasSubstr("CometBFT's RPC does not answer"));
}

}  // namespace
}  // namespace retrace::node::test
