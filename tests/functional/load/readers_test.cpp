// SPDX-License-Identifier: MIT
// Clients that ask and do not read, and events for which there is no memory.
#include <new>

#include "tests/functional/rpc/served.hpp"

namespace retrace::node::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMiB = std::size_t{1} << 20;
const std::string kBig = R"({"jsonrpc":"2.0","id":1,"method":"test_big"})";

/// A server with a method whose answer is a mebibyte, and a subscription whose events throw.
class BigServed {
public:
    explicit BigServed(const rpc::ServerOptions& options) : served(options) {
        rpc::Method big{.name = "test_big", .summary = "", .params = {}, .result = "Any", .handler = {}};
        big.handler = [this](const rpc::Params&, rpc::Caller&) -> rpc::Answer {
            ++answered;
            return json::value(std::string(kMiB, 'a'));
        };
        served.world.router.add(std::move(big));
        rpc::Method bad{.name = "test_bad", .summary = "", .params = {}, .result = "Any", .handler = {}};
        bad.handler = [](const rpc::Params&, rpc::Caller& caller) -> rpc::Answer {
            rpc::Subscription subscription;
            subscription.kind = rpc::Subscription::Kind::task_progress;
            subscription.of_block = [](const ledger::Block&) -> std::vector<rpc::TaskProgress> {
                throw std::bad_alloc();
            };
            return json::value(caller.subscriptions->add(std::move(subscription)));
        };
        served.world.router.add(std::move(bad));
    }
    bool comes(const std::function<bool()>& what) const {
        for (const auto end = steady_clock::now() + std::chrono::seconds(10); steady_clock::now() < end;) {
            if (what()) return true;
            std::this_thread::sleep_for(milliseconds(5));
        }
        return false;
    }
    /// Once no more answers are made.
    int settled() const {
        for (int last = -1;;) {
            const int now = answered;
            if (now == last) return now;
            last = now;
            std::this_thread::sleep_for(milliseconds(500));
        }
    }

    std::atomic<int> answered{0};
    Served served;  // last: its handlers refer to the above
};

TEST(RpcReaders, WhoDoesNotReadIsNotReadFrom) {
    BigServed big({});
    WsClient ws(big.served.port);
    constexpr int kCalls = 100;
    for (int i = 0; i < kCalls; ++i) ws.write(kBig);
    // The sockets' own buffers take a few; before, all that was asked was held.
    EXPECT_LT(big.settled(), 30);
    for (int i = 0; i < kCalls; ++i) ASSERT_EQ(ws.read().at("result").as_string().size(), kMiB) << i;
    EXPECT_EQ(big.answered, kCalls);
    EXPECT_EQ(big.served.server->stats().refused, 0U);
}

TEST(RpcReaders, AnAddressMayLeaveSoMuch) {
    rpc::ServerOptions options;
    options.limit_loopback = true;
    options.unread.client = 4 * kMiB;
    BigServed big(options);
    std::deque<WsClient> crowd;
    for (int i = 0; i < 12; ++i) {
        crowd.emplace_back(big.served.port);
        for (int k = 0; k < 20; ++k) crowd.back().write(kBig);
        if (big.served.server->stats().refused != 0) break;
    }
    EXPECT_TRUE(big.comes([&] { return big.served.server->stats().refused != 0; }));
    crowd.clear();
    ASSERT_TRUE(big.comes([&] { return big.served.server->stats().ws_connections == 0; }));
    WsClient again(big.served.port);
    again.write(kBig);
    EXPECT_EQ(again.read().at("result").as_string().size(), kMiB) << "what was cut off counts no more";
}

TEST(RpcReaders, WhenAllLeaveTooMuchTheOneWithMostGoes) {
    rpc::ServerOptions options;
    options.unread.total = 4 * kMiB;
    BigServed big(options);
    WsClient honest(big.served.port);
    std::deque<WsClient> crowd;
    for (int i = 0; i < 12 && big.served.server->stats().refused == 0; ++i) {
        crowd.emplace_back(big.served.port);
        for (int k = 0; k < 20; ++k) crowd.back().write(kBig);
        EXPECT_EQ(honest.call("eth_chainId", {}), "0x1c82");
        big.settled();
    }
    EXPECT_GE(big.served.server->stats().refused, 1U);
    EXPECT_EQ(honest.call("eth_chainId", {}), "0x1c82");
}

TEST(RpcReaders, AnEventThatThrowsEndsItsConnectionAlone) {
    BigServed big({});
    WsClient honest(big.served.port);
    const json::value heads = honest.call("eth_subscribe", {"newHeads"});
    WsClient unlucky(big.served.port);
    unlucky.call("test_bad", {});
    big.served.world.mine();
    EXPECT_ANY_THROW(unlucky.read());
    EXPECT_EQ(honest.read().at("params").at("subscription"), heads);
    EXPECT_EQ(honest.call("eth_blockNumber", {}), "0x1");
}

/// A connection that becomes a WebSocket while another thread closes it for want of room.
TEST(RpcReaders, RoomIsMadeWhileConnectionsBecomeWebSockets) {
    rpc::ServerOptions options;
    options.connections = 4;
    options.threads = 4;
    Served served(options);
    const auto end = steady_clock::now() + milliseconds(1500);
    std::vector<std::thread> clients;
    for (int i = 0; i < 4; ++i) {
        clients.emplace_back([&] {
            while (steady_clock::now() < end) {
                try {
                    WsClient ws(served.port);
                    WsClient second(served.port);
                } catch (const std::exception&) {
                    // Pushed out, as it should be.
                }
            }
        });
    }
    for (std::thread& client : clients) client.join();
    Client other(served.port);
    EXPECT_EQ(other.post(kChainId).result_int(), 200U);
}

}  // namespace
}  // namespace retrace::node::test
