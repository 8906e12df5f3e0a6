// SPDX-License-Identifier: MIT
// Who gets a place when all connections of a node's port are open, most of them WebSockets that are never idle.
#include <boost/asio/ip/udp.hpp>
#include <deque>

#include "tests/functional/rpc/served.hpp"

namespace retrace::node::test {
namespace {

rpc::ServerOptions places(std::size_t connections) {
    rpc::ServerOptions options;
    options.limit_loopback = true;
    options.connections = connections;
    return options;
}

TEST(RpcFullServer, AnAgentBetweenTwoRequestsKeepsItsConnection) {
    Served served(places(6));
    Client agent(served.port, "127.0.0.9");
    ASSERT_EQ(agent.post(kChainId).result_int(), 200U);
    std::deque<WsClient> crowd;
    for (int i = 0; i < 3; ++i) crowd.emplace_back(served.port, "", "127.0.0.2");
    for (int i = 0; i < 2; ++i) crowd.emplace_back(served.port, "", "127.0.0.3");
    for (const char* newcomer : {"127.0.0.4", "127.0.0.5", "127.0.0.6"}) {
        crowd.emplace_back(served.port, "", newcomer);
        EXPECT_EQ(agent.post(kChainId).result_int(), 200U) << "after " << newcomer;
    }
    EXPECT_EQ(served.server->stats().refused, 3U);
}

TEST(RpcFullServer, WebSocketsOfOneAddressMakeRoomForAnotherAndTakeNone) {
    Served served(places(4));
    std::deque<WsClient> crowd;
    for (int i = 0; i < 4; ++i) crowd.emplace_back(served.port, "", "127.0.0.2");
    Client agent(served.port, "127.0.0.9");
    EXPECT_EQ(agent.post(kChainId).result_int(), 200U);
    EXPECT_ANY_THROW(crowd.front().call("eth_chainId", {})) << "the oldest was closed";
    Client greedy(served.port, "127.0.0.2");
    EXPECT_TRUE(greedy.closed());
    EXPECT_EQ(agent.post(kChainId).result_int(), 200U);
    EXPECT_EQ(crowd.back().call("eth_chainId", {}), "0x1c82");
}

/// An address of this machine that is not of the loopback interface; empty if there is none. Sends nothing.
std::string address_for_others() {
    net::io_context io;
    net::ip::udp::socket socket(io, net::ip::udp::v4());
    boost::system::error_code failed;
    socket.connect({net::ip::make_address("198.51.100.1"), 9}, failed);
    const auto address = socket.local_endpoint(failed).address();
    return failed || address.is_loopback() || address.is_unspecified() ? std::string() : address.to_string();
}

TEST(RpcFullServer, ThisMachineTakesThePlaceOfAStrangerAndLosesNone) {
    const std::string stranger = address_for_others();
    if (stranger.empty())
        GTEST_SKIP() << "this machine has only its loopback interface; one with a second address runs it";
    rpc::ServerOptions options;
    options.connections = 2;
    Served served(options);
    WsClient local(served.port), remote(served.port, "", stranger);
    EXPECT_EQ(remote.call("eth_chainId", {}), "0x1c82");
    WsClient second(served.port);
    EXPECT_EQ(local.call("eth_chainId", {}), "0x1c82");
    EXPECT_ANY_THROW(remote.call("eth_chainId", {})) << "although this machine held as many";
    Client late(served.port, stranger);
    EXPECT_TRUE(late.closed());
    EXPECT_EQ(local.call("eth_chainId", {}), "0x1c82");
    EXPECT_EQ(second.call("eth_chainId", {}), "0x1c82");
}

}  // namespace
}  // namespace retrace::node::test
