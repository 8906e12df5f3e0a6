// SPDX-License-Identifier: MIT
// Very large subscriptions: their memory is charged to their connection and freed with it.
#include <fstream>

#include "tests/functional/rpc/node_process.hpp"
#include "tests/functional/rpc/served.hpp"

namespace retrace::node::test {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

std::string hex(std::size_t number, std::size_t digits) {
    const std::string out = std::to_string(number);
    return "0x" + std::string(digits - out.size(), '0') + out;
}

/// A subscription to logs of `items` addresses and topics.
json::array logs_of(std::size_t addresses, std::size_t topics) {
    json::array wanted, position;
    for (std::size_t i = 0; i < addresses; ++i) wanted.emplace_back(hex(i, 40));
    for (std::size_t i = 0; i < topics; ++i) position.emplace_back(hex(i, 64));
    return {"logs", json::object{{"address", wanted}, {"topics", json::array(4, position)}}};
}

json::value subscribe(WsClient& ws, const json::array& params) {
    ws.write(
        json::serialize(json::object{{"jsonrpc", "2.0"}, {"id", 1}, {"method", "eth_subscribe"}, {"params", params}}));
    return ws.read();
}

bool comes(const std::function<bool()>& what) {
    for (const auto end = steady_clock::now() + 20s; steady_clock::now() < end;) {
        if (what()) return true;
        std::this_thread::sleep_for(10ms);
    }
    return false;
}

TEST(RpcSubscriptions, OneConnectionLooksForSoMuch) {
    rpc::ServerOptions options;
    options.filters.connection = 3 * 150'000;
    Served served(options);
    WsClient ws(served.port);
    const json::array large = logs_of(1000, 1000);
    json::value first;
    for (int i = 0; i < 2; ++i) {
        const json::value answer = subscribe(ws, large);
        ASSERT_TRUE(answer.as_object().contains("result")) << json::serialize(answer);
        if (i == 0) first = answer.at("result");
    }
    EXPECT_EQ(subscribe(ws, logs_of(1000, 1000)).as_object().contains("result"), true);
    EXPECT_EQ(subscribe(ws, large).at("error").at("message"),
              "too many addresses and topics in the subscriptions of this connection");
    EXPECT_TRUE(subscribe(ws, {"newHeads"}).as_object().contains("result")) << "which looks for nothing";
    EXPECT_EQ(ws.call("eth_unsubscribe", {first}), true);
    EXPECT_TRUE(subscribe(ws, large).as_object().contains("result")) << "its place is free";
    EXPECT_EQ(served.server->stats().refused, 0U);
}

TEST(RpcSubscriptions, WhoHoldsMostOfAnAddressOrOfAllGoes) {
    rpc::ServerOptions options;
    options.limit_loopback = true;
    options.filters.client = 5 * 160'000;
    options.filters.total = 12 * 160'000;
    Served served(options);
    const json::array large = logs_of(1000, 1000);
    WsClient modest(served.port, "", "127.0.0.2");
    EXPECT_TRUE(subscribe(modest, logs_of(1, 1)).as_object().contains("result"));
    std::deque<WsClient> crowd;
    const auto fill = [&](const std::string& from, int count) {
        crowd.emplace_back(served.port, "", from);
        for (int i = 0; i < count; ++i) {
            try {
                subscribe(crowd.back(), large);
            } catch (const boost::system::system_error&) {  // it was the one that held the most
            }
        }
    };
    for (int i = 0; i < 3; ++i) fill("127.0.0.2", 2);
    EXPECT_TRUE(comes([&] { return served.server->stats().refused == 1; })) << "one of its address";
    for (const char* from : {"127.0.0.3", "127.0.0.4"}) fill(from, 4);
    EXPECT_EQ(served.server->stats().refused, 1U) << "twelve in all";
    fill("127.0.0.5", 1);
    EXPECT_TRUE(comes([&] { return served.server->stats().refused == 2; }));
    EXPECT_EQ(modest.call("eth_chainId", {}), "0x1c82") << "who holds little stays";
    WsClient newcomer(served.port, "", "127.0.0.6");
    EXPECT_TRUE(subscribe(newcomer, logs_of(1, 1)).as_object().contains("result"));
}

TEST(RpcSubscriptions, WhatTheyTakeCountsInWhatTheirConnectionHolds) {
    rpc::ServerOptions options;
    options.held.local = 10 * 160'000;
    Served served(options);
    WsClient honest(served.port);
    std::deque<WsClient> crowd;
    for (int i = 0; i < 15 && served.server->stats().refused == 0; ++i) {
        try {
            subscribe(crowd.emplace_back(served.port), logs_of(1000, 1000));
        } catch (const boost::system::system_error&) {  // it held most
        }
    }
    EXPECT_TRUE(comes([&] { return served.server->stats().refused != 0; }));
    EXPECT_EQ(honest.call("eth_chainId", {}), "0x1c82");
}

class Subscribers : public NodeProcess {
protected:
    std::size_t resident() const {
        std::size_t pages = 0;
        std::ifstream("/proc/" + std::to_string(node_->pid()) + "/statm") >> pages >> pages;
        return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    }
    std::uint16_t port() const { return static_cast<std::uint16_t>(std::stoul(port_)); }
};

// Formerly, 128 subscriptions of 5,000 items on each of 30 WebSockets took more than a gigabyte, most of it
// permanently.
TEST_F(Subscribers, GiveBackWhatTheyTook) {
    start_node();
    const std::string large = json::serialize(
        json::object{{"jsonrpc", "2.0"}, {"id", 1}, {"method", "eth_subscribe"}, {"params", logs_of(1000, 1000)}});
    const std::size_t before = resident();
    std::size_t most = 0, taken = 0;
    {
        std::deque<WsClient> crowd;
        for (int i = 0; i < 30; ++i) {
            WsClient& ws = crowd.emplace_back(port());
            try {
                for (int k = 0; k < 128; ++k) {
                    ws.write(large);
                    if (!ws.read().as_object().contains("result")) break;
                    ++taken;
                }
            } catch (const boost::system::system_error&) {  // closed in favour of another that holds less
            }
            most = std::max(most, resident());
        }
    }
    EXPECT_GE(taken, 100U);
    EXPECT_LT(most, before + 160 * kMebibyte);
    EXPECT_TRUE(comes([&] { return resident() < before + 48 * kMebibyte; }))
        << before / kMebibyte << " MiB before, " << most / kMebibyte << " at most, " << resident() / kMebibyte
        << " left";
    RecordProperty("before_mib", std::to_string(before / kMebibyte));
    RecordProperty("most_mib", std::to_string(most / kMebibyte));
    RecordProperty("left_mib", std::to_string(resident() / kMebibyte));
}

}  // namespace
}  // namespace retrace::node::test
