// SPDX-License-Identifier: MIT
// Clients that send requests but do not read the answers, and events when memory runs out.
#include <new>

#include "tests/functional/rpc/served.hpp"

namespace retrace::node::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kMiB = std::size_t{1} << 20;
const std::string kBig = R"({"jsonrpc":"2.0","id":1,"method":"test_big"})";

/// A server with a method whose answer has one mebibyte, and a subscription whose events throw.
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
    /// Waits until no more answers are made, and returns their number.
    int settled() const {
        for (int last = -1;;) {
            const int now = answered;
            if (now == last) return now;
            last = now;
            std::this_thread::sleep_for(milliseconds(500));
        }
    }

    std::atomic<int> answered{0};
    Served served;  // last, because its handlers refer to the members above
};

TEST(RpcReaders, WhoDoesNotReadIsNotReadFrom) {
    BigServed big({});
    WsClient ws(big.served.port);
    constexpr int kCalls = 100;
    for (int i = 0; i < kCalls; ++i) ws.write(kBig);
    // The sockets' own buffers take a few; formerly all requested answers were held.
    EXPECT_LT(big.settled(), 30);
    for (int i = 0; i < kCalls; ++i) ASSERT_EQ(ws.read().at("result").as_string().size(), kMiB) << i;
    EXPECT_EQ(big.answered, kCalls);
    EXPECT_EQ(big.served.server->stats().refused, 0U);
}

TEST(RpcReaders, AnAddressMayLeaveSoMuch) {
    rpc::ServerOptions options;
    options.limit_loopback = true;
    options.held.client = 4 * kMiB;
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
    options.held.local = 4 * kMiB;
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

std::string post_of(const std::string& body) {
    return "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string twenty_big() {
    std::string out = "[" + kBig;
    for (int i = 1; i < 20; ++i) out += "," + kBig;
    return out + "]";
}

// HTTP answers that are not read do not take room from other clients.
TEST(RpcReaders, AnswersThatAreNotReadCostTheirReadersAlone) {
    std::size_t bytes = 0;
    {
        BigServed measured({});
        // Twenty answers, nineteen commas and two brackets.
        bytes = 20 * Client(measured.served.port).post(kBig).body().size() + 21;
    }
    rpc::ServerOptions options;
    options.limit_loopback = true;
    options.held.total = 3 * bytes + 10;
    BigServed big(options);
    const std::uint16_t port = big.served.port;
    WsClient subscriber(port, "", "127.0.0.9");
    subscriber.call("eth_subscribe", {"newHeads"});
    std::deque<Client> crowd;
    for (const char* from : {"127.0.0.2", "127.0.0.3", "127.0.0.4"}) {
        crowd.emplace_back(port, from).write(post_of(twenty_big()));
        big.settled();
    }
    EXPECT_EQ(big.answered, 60);
    EXPECT_EQ(big.served.server->stats().refused, 0U) << "all is taken but ten bytes";
    for (int i = 0; i < 10; ++i) {
        Client honest(port, "127.0.0.8");
        EXPECT_EQ(json::parse(honest.post(kChainId).body()).at("result"), "0x1c82");
        big.served.world.mine();
        EXPECT_EQ(subscriber.read().at("method"), "eth_subscription");
    }
    EXPECT_EQ(big.served.server->stats().refused, 1U) << "one of the crowd";
}

// Incomplete bodies and messages, and messages that were answered.
TEST(RpcReaders, WhatIsReceivedIsCounted) {
    rpc::ServerOptions options;
    options.held.local = 8 * kMiB;
    BigServed big(options);
    const auto refused = [&] { return big.served.server->stats().refused; };
    std::deque<WsClient> answered;
    for (int i = 0; i < 20; ++i) {
        answered.emplace_back(big.served.port).write(std::string(kMiB, ' '));
        EXPECT_EQ(answered.back().read().at("error").at("message"), "parse error");
    }
    EXPECT_EQ(refused(), 0U) << "nothing is left of them";

    std::deque<Client> bodies;
    for (int i = 0; i < 12; ++i) {
        const std::string post = post_of(std::string(kMiB, ' '));
        bodies.emplace_back(big.served.port).write(post.substr(0, post.size() - 1));
    }
    EXPECT_TRUE(big.comes([&] { return refused() >= 4; }));
    bodies.clear();
    ASSERT_TRUE(big.comes([&] { return big.served.server->stats().http_connections == 0; }));

    const std::uint64_t before = refused();
    std::deque<Client> messages;
    for (int i = 0; i < 12; ++i) {
        Client& ws = messages.emplace_back(big.served.port);
        EXPECT_EQ(ws.request("GET /",
                             "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                             "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")
                      .result_int(),
                  101U);
        ws.write(std::string("\x81\xff\0\0\0\0\0\x10\0\0\0\0\0\0", 14) + std::string(kMiB - 1, ' '));
    }
    EXPECT_TRUE(big.comes([&] { return refused() >= before + 4; }));
    EXPECT_EQ(answered.back().call("eth_chainId", {}), "0x1c82") << "who holds little stays";
}

TEST(RpcReaders, AHeadOfAChunkDoesNotGoOnForEver) {
    BigServed big({});
    for (const std::string begin : {"5;", "0\r\nx: "}) {
        Client client(big.served.port);
        client.write(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"
            "Transfer-Encoding: chunked\r\n\r\n" +
            begin);
        const std::string piece(64 << 10, 'a');
        std::size_t sent = 0;
        try {
            for (; sent < 64 * kMiB; sent += piece.size()) client.write(piece);
        } catch (const std::exception&) {  // The connection was closed.
        }
        EXPECT_LT(sent, 32 * kMiB) << begin;
    }
}

/// A server with a subscription whose events take as long as the test chooses.
struct SlowEvents {
    explicit SlowEvents(const rpc::ServerOptions& options) : served(options) {
        rpc::Method slow{.name = "test_slow", .summary = "", .params = {}, .result = "Any", .handler = {}};
        slow.handler = [this](const rpc::Params&, rpc::Caller& caller) -> rpc::Answer {
            rpc::Subscription subscription;
            subscription.kind = rpc::Subscription::Kind::task_progress;
            subscription.of_block = [this](const ledger::Block&) -> std::vector<rpc::TaskProgress> {
                ++made;
                const auto end = steady_clock::now() + pause.load();
                while (steady_clock::now() < end && !resume) std::this_thread::sleep_for(milliseconds(1));
                return {};
            };
            return json::value(caller.subscriptions->add(std::move(subscription)));
        };
        served.world.router.add(std::move(slow));
    }
    std::atomic<milliseconds> pause{milliseconds(20)};
    std::atomic<bool> resume{false};
    std::atomic<int> made{0};
    Served served;
};

TEST(RpcReaders, EventsThatTakeLongKeepOnlyTheirOwnAddressWaiting) {
    rpc::ServerOptions options;
    options.limit_loopback = true;
    SlowEvents slow(options);
    WsClient greedy(slow.served.port, "", "127.0.0.2"), other(slow.served.port, "", "127.0.0.3");
    greedy.call("test_slow", {});
    other.call("eth_subscribe", {"newHeads"});
    const auto block = slow.served.world.chain->tip();
    for (int i = 0; i < 50; ++i) slow.served.server->publish(block);
    EXPECT_EQ(other.read().at("method"), "eth_subscription");
    EXPECT_LT(slow.made, 10) << "not a whole turn of 64 events";
    slow.resume = true;
}

TEST(RpcReaders, WhoIsBehindByTooManyBytesOfBlocksIsCutOff) {
    SlowEvents slow({});
    slow.pause = milliseconds(60'000);
    WsClient behind(slow.served.port);
    behind.call("test_slow", {});
    auto block = std::make_shared<ledger::Block>(*slow.served.world.chain->tip());
    block->encoded_size = 40 * kMiB;
    for (int i = 0; i < 10; ++i) slow.served.server->publish(block);
    EXPECT_ANY_THROW(behind.read());
    slow.resume = true;
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

/// A connection becomes a WebSocket while another thread closes it to make room.
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
                    // Evicted, as expected.
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
