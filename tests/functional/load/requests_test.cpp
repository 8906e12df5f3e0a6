// SPDX-License-Identifier: MIT
// Slow requests: their effect on other clients, and how they are ended.
#include <csignal>

#include "tests/functional/rpc/node_process.hpp"
#include "tests/functional/rpc/served.hpp"

namespace retrace::node::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using namespace std::chrono_literals;

double seconds_since(steady_clock::time_point start) {
    return std::chrono::duration<double>(steady_clock::now() - start).count();
}

json::value parsed(const Client::Reply& reply) { return json::parse(reply.body()); }

const std::string kSlow = R"({"jsonrpc":"2.0","id":"slow","method":"test_slow"})";

std::string batch_of(const std::string& request, int count) {
    std::string out = "[" + request;
    for (int i = 1; i < count; ++i) out += "," + request;
    return out + "]";
}

std::string http_post(const std::string& body) {
    return "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// A server whose method `test_slow` computes until its budget ends.
class SlowServed {
public:
    explicit SlowServed(const rpc::ServerOptions& options = {}) : served(two_handlers(options)) {
        rpc::Method slow{.name = "test_slow", .summary = "", .params = {}, .result = "Any", .handler = {}};
        slow.handler = [this](const rpc::Params&, rpc::Caller& caller) -> rpc::Answer {
            ++started;
            ++running;
            for (;;) {
                const auto spent = caller.spend(1);
                if (spent) continue;
                --running;
                return Unexpected{spent.error()};
            }
        };
        served.world.router.add(std::move(slow));
    }
    /// Clients on this machine have a third one, which these tests leave out.
    static rpc::ServerOptions two_handlers(rpc::ServerOptions options) {
        options.handlers.local_threads = 0;
        return options;
    }
    /// Waits for `what` for at most ten seconds.
    static bool comes(const std::function<bool()>& what) {
        for (const auto start = steady_clock::now(); seconds_since(start) < 10;) {
            if (what()) return true;
            std::this_thread::sleep_for(milliseconds(5));
        }
        return false;
    }

    std::atomic<int> started{0}, running{0};
    Served served;  // last, because its handlers refer to the members above
};

/// Eight connections, each with a batch of a hundred slow requests in progress.
std::deque<Client> attack(const SlowServed& slow) {
    std::deque<Client> out;
    for (int i = 0; i < 8; ++i) {
        out.emplace_back(slow.served.port);
        out.back().write(http_post(batch_of(kSlow, 100)));
    }
    return out;
}

TEST(RpcLoad, LongRequestsKeepNobodyElseWaiting) {
    rpc::ServerOptions options;
    options.request_timeout = 3s;
    SlowServed slow(options);
    const std::deque<Client> attackers = attack(slow);
    ASSERT_TRUE(SlowServed::comes([&] { return slow.running == 2; }));
    const auto start = steady_clock::now();
    Client client(slow.served.port);
    WsClient ws(slow.served.port);
    for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(parsed(client.post(kChainId)).at("result"), "0x1c82");
        EXPECT_EQ(ws.call("eth_blockNumber", {}), "0x0");
    }
    EXPECT_EQ(client.request("GET /hello").result_int(), 200U);
    EXPECT_LT(seconds_since(start), 2) << "they wait for nobody";
    EXPECT_GT(slow.running, 0);
}

TEST(RpcLoad, ABatchHasSoMuchTime) {
    rpc::ServerOptions options;
    options.request_timeout = 500ms;
    SlowServed slow(options);
    Client client(slow.served.port);
    const auto start = steady_clock::now();
    const json::value answers = parsed(client.post(batch_of(kSlow, 1000)));
    EXPECT_LT(seconds_since(start), 5);
    ASSERT_EQ(answers.as_array().size(), 1000U);
    for (const json::value& answer : answers.as_array()) {
        EXPECT_EQ(answer.at("id"), "slow");
        EXPECT_EQ(answer.at("error").at("code"), -32002);
        EXPECT_EQ(answer.at("error").at("message"), "request timed out");
    }
    EXPECT_EQ(slow.started, 1) << "the rest of a batch that has used its time is not begun";
}

TEST(RpcLoad, NobodyComputesForAClientThatHungUp) {
    rpc::ServerOptions options;
    options.request_timeout = 60s;
    SlowServed slow(options);
    {
        Client client(slow.served.port);
        WsClient ws(slow.served.port);
        client.write(http_post(batch_of(kSlow, 100)));
        ws.write(batch_of(kSlow, 100));
        ASSERT_TRUE(SlowServed::comes([&] { return slow.running == 2; }));
    }
    EXPECT_TRUE(SlowServed::comes([&] { return slow.running == 0; }));
    EXPECT_EQ(slow.started, 2);
    Client again(slow.served.port);
    EXPECT_EQ(parsed(again.post(R"({"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{}]})")).at("result"),
              json::array());
}

/// A contract that never stops reading: none of ours does this, but it is the worst case of a call.
const std::string kEndless = R"({"jsonrpc":"2.0","id":"slow","method":"eth_estimateGas","params":[{"to":")" +
                             to_0x(ToyExecutor::contract()) + R"(","data":"0x0800"}]})";

TEST(RpcLoad, AnEstimateEndsWithItsTimeAndWithItsClient) {
    rpc::ServerOptions options;
    options.request_timeout = 1s;
    Served served(options);
    const auto start = steady_clock::now();
    Client patient(served.port);
    const json::value answer = parsed(patient.post(kEndless));
    EXPECT_EQ(answer.at("error").at("code"), -32002);
    EXPECT_LT(seconds_since(start), 3);

    options.request_timeout = 60s;
    Served again(options);
    {
        std::deque<Client> gone;
        for (int i = 0; i < 3; ++i) {  // one for each handler
            gone.emplace_back(again.port);
            gone.back().write(http_post(kEndless));
        }
    }
    const auto left = steady_clock::now();
    Client next(again.port);
    EXPECT_EQ(parsed(next.post(R"({"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{}]})")).at("result"),
              json::array());
    EXPECT_LT(seconds_since(left), 3) << "their handlers are free again";
}

TEST(RpcLoad, StopsAtOnceUnderIt) {
    rpc::ServerOptions options;
    options.request_timeout = 60s;
    SlowServed slow(options);
    const std::deque<Client> attackers = attack(slow);
    ASSERT_TRUE(SlowServed::comes([&] { return slow.running == 2; }));
    const auto start = steady_clock::now();
    slow.served.server->stop();
    EXPECT_LT(seconds_since(start), 2);
    EXPECT_EQ(slow.running, 0);
}

TEST(RpcLoad, AnswersOfOneConnectionComeInOrder) {
    rpc::ServerOptions options;
    options.request_timeout = 300ms;
    SlowServed slow(options);
    Client client(slow.served.port);
    client.write(http_post(kSlow) + http_post(kChainId));
    EXPECT_EQ(parsed(client.read()).at("id"), "slow");
    EXPECT_EQ(parsed(client.read()).at("id"), 1);
    WsClient ws(slow.served.port);
    ws.write(kSlow);
    ws.write(kChainId);
    EXPECT_EQ(ws.read().at("id"), "slow");
    EXPECT_EQ(ws.read().at("id"), 1);
}

TEST(RpcLoad, SubscriptionsInABatchOfLongRequestsFollowTheirAnswer) {
    rpc::ServerOptions options;
    options.request_timeout = 300ms;
    SlowServed slow(options);
    WsClient ws(slow.served.port);
    const std::string heads = R"({"jsonrpc":"2.0","id":7,"method":"eth_subscribe","params":["newHeads"]})";
    ws.write("[" + heads + "," + kSlow + "]");
    ASSERT_TRUE(SlowServed::comes([&] { return slow.running == 1; }));
    slow.served.world.mine();  // before the answer, so not for this subscription
    const json::value answers = ws.read();
    const json::value id = answers.at(0).at("result");
    slow.served.world.mine();
    const json::value event = ws.read();
    EXPECT_EQ(event.at("params").at("subscription"), id);
    EXPECT_EQ(event.at("params").at("result").at("number"), "0x2");
    EXPECT_EQ(ws.call("eth_unsubscribe", {id}), true);
    EXPECT_EQ(ws.call("eth_chainId", {}), "0x1c82");
}

TEST(RpcLoad, TooManyThatWaitAreRefusedByName) {
    rpc::ServerOptions options;
    options.request_timeout = 60s;
    options.handlers.waiting = 3;
    SlowServed slow(options);
    std::deque<Client> attackers;
    for (int i = 0; i < 6; ++i) {  // two run, three wait, one is refused
        if (i == 2) {
            ASSERT_TRUE(SlowServed::comes([&] { return slow.running == 2; }));
        }
        attackers.emplace_back(slow.served.port);
        attackers.back().write(http_post(kSlow));
    }
    ASSERT_TRUE(SlowServed::comes([&] { return slow.served.server->stats().refused == 1; }));
    Client client(slow.served.port);
    const json::value answer = parsed(client.post(R"({"jsonrpc":"2.0","id":9,"method":"rpc.discover"})"));
    EXPECT_EQ(answer.at("id"), 9);
    EXPECT_EQ(answer.at("error").at("code"), -32005);
    EXPECT_EQ(answer.at("error").at("message"), "too many requests are waiting, try again later");
    EXPECT_EQ(parsed(client.post(kChainId)).at("result"), "0x1c82");
}

TEST(RpcLoad, WorkIsTakenFromTheAllowance) {
    rpc::ServerOptions options;
    options.limit_loopback = true;
    options.requests_per_second = 0.001;
    options.request_burst = 5;
    Served served(options);
    for (int i = 0; i < 100; ++i) served.world.mine();
    Client client(served.port);
    const std::string logs =
        R"({"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"fromBlock":"0x0","toBlock":"latest"}]})";
    EXPECT_EQ(parsed(client.post(logs)).at("result"), json::array()) << "101 blooms, more than is left";
    EXPECT_EQ(parsed(client.post(kChainId)).at("error").at("code"), -32005);
}

TEST(RpcRate, DebtsAreWaitedFor) {
    rpc::RateLimiter limiter(10, 20);
    rpc::RateLimiter::Clock::time_point now{};
    EXPECT_TRUE(limiter.take("a", now));
    limiter.charge("a", 29, now);
    EXPECT_FALSE(limiter.take("a", now + 500ms));
    EXPECT_FALSE(limiter.take("a", now + 1s));
    EXPECT_TRUE(limiter.take("a", now + 1100ms));
    limiter.charge("a", 1e9, now + 1100ms);
    EXPECT_TRUE(limiter.take("a", now + 62s)) << "a minute at most";
    EXPECT_TRUE(limiter.take("b", now));
}

class LoadedProcess : public NodeProcess {};

TEST_F(LoadedProcess, EndsOnSigtermWhileItIsAskedTooMuch) {
    block_ms_ = "10";
    start_node();
    while (client().height().value_or(0) < 100) std::this_thread::sleep_for(20ms);
    const std::string logs = R"({"jsonrpc":"2.0","id":1,"method":"eth_feeHistory","params":["0x400","latest",[20]]})";
    std::deque<Client> attackers;
    const auto port = static_cast<std::uint16_t>(std::stoi(port_));
    for (int i = 0; i < 8; ++i) {
        attackers.emplace_back(port);
        try {
            attackers.back().write(http_post(batch_of(logs, 1000)));
        } catch (const boost::system::system_error&) {
            // On a busy machine the node may have refused and closed it before everything was written.
        }
    }
    std::this_thread::sleep_for(300ms);
    const auto start = steady_clock::now();
    ASSERT_TRUE(client().height().has_value());
    EXPECT_LT(seconds_since(start), 2) << "eth_blockNumber waits for nobody";
    node_->send(SIGTERM);
    while (node_->running() && seconds_since(start) < 20) std::this_thread::sleep_for(5ms);
    EXPECT_EQ(node_->exit_status(), 0);
    EXPECT_LT(seconds_since(start), 4);
}

}  // namespace
}  // namespace retrace::node::test
