// SPDX-License-Identifier: MIT
// Blocks and states that are pruned before or while a request reads them, and rules that fail during a request.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/node/rpc_market_world.hpp"

namespace retrace::node::test {
namespace {

using testing::HasSubstr;

const std::string kTopic = "0x11" + std::string(62, '0');

std::string toy_address() { return ledger::to_0x(ToyExecutor::contract()); }
json::object toy_bytes_call(const Bytes& data) { return {{"to", toy_address()}, {"data", to_0x(View(data))}}; }

/// A chain that keeps few states and blocks; `forget` adds so many that all current ones leave both windows.
class RpcForgetting : public testing::Test {
protected:
    RpcForgetting() : world(nullptr, {}, {.state_window = 4, .proof_window = 4, .block_window = 10, .threads = 1}) {
        world.send(world.make_tx(0, ToyExecutor::contract(), 0, {ToyExecutor::store, 'k', 1}));
        world.mine();
    }
    void forget() {
        world.send(world.make_tx(0, ToyExecutor::contract(), 0, {ToyExecutor::store, 'k', 2}));
        for (int i = 0; i < 30; ++i) world.mine();
    }
    /// The answer to a request during which pruning happens after its first read of such a key.
    json::object overtaken(char letter, const std::string& method, json::array params) {
        world.store.after_read_of(letter, [this] { forget(); });
        return world.request(method, std::move(params)).as_object();
    }
    static std::string message(const json::object& answer) {
        return answer.contains("error") ? text(answer.at("error").at("message")) : json::serialize(answer);
    }

    RpcWorld world;
};

TEST_F(RpcForgetting, AStateThatIsForgottenWhileItIsReadIsNamed) {
    const json::object slot{{"contract", toy_address()}, {"key", "0x6b"}};
    const std::string account = ledger::to_0x(dev_key(0).address());
    struct Case {
        char letter;
        const char* method;
        json::array params;
    };
    const std::vector<Case> cases = {
        {'s', "retrace_getSlots", {json::array{slot, slot}}},
        {'a', "retrace_getAccount", {account}},
        {'a', "eth_getBalance", {account}},
        {'a', "eth_call", {toy_bytes_call({ToyExecutor::echo})}},
        {'a', "eth_estimateGas", {toy_bytes_call({ToyExecutor::echo})}},
    };
    for (const Case& c : cases) {
        SCOPED_TRACE(c.method);
        const std::string height = std::to_string(world.chain->height());
        const json::object answer = overtaken(c.letter, c.method, c.params);
        EXPECT_THAT(message(answer), HasSubstr("the state of block " + height + " is not kept; the oldest is"));
        ASSERT_TRUE(answer.contains("error"));
        EXPECT_EQ(answer.at("error").at("code"), -32000);
        world.result(c.method, c.params);
    }
    EXPECT_THAT(text(world.error("eth_getBalance", {account, "0x1"}).at("message")),
                HasSubstr("the state of block 1 is not kept; the oldest is"));
}

TEST_F(RpcForgetting, ATransactionWhoseBlockGoesMeanwhileIsNotThere) {
    for (const char* method : {"eth_getTransactionReceipt", "eth_getTransactionByHash"}) {
        const std::string hash = world.send(world.make_tx(1, dev_key(2).address(), 1, {}, {}, 21'000));
        world.mine();
        ASSERT_FALSE(world.result(method, {hash}).is_null());
        const json::object answer = overtaken('x', method, {hash});
        ASSERT_TRUE(answer.contains("result")) << method << ": " << json::serialize(answer);
        EXPECT_TRUE(answer.at("result").is_null()) << method;
    }
}

TEST_F(RpcForgetting, LogsOfAPartOfTheRangeAreNoAnswer) {
    const auto emit = [this] {
        world.send(world.make_tx(1, ToyExecutor::contract(), 0, {ToyExecutor::emit, 7}));
        world.mine();
    };
    const auto logs = [this](const std::string& from, const std::string& to = "latest") {
        return world.request("eth_getLogs", {json::object{{"fromBlock", from}, {"toBlock", to}, {"topics", {kTopic}}}})
            .as_object();
    };
    emit();
    EXPECT_EQ(logs("earliest").at("result").as_array().size(), 1U) << "all is kept";
    forget();
    emit();
    const std::uint64_t oldest = world.chain->oldest_block();
    ASSERT_GT(oldest, 2U);
    const std::string named = "is not kept; the oldest is " + std::to_string(oldest);
    for (const char* from : {"0x0", "earliest", "0x1"}) EXPECT_THAT(message(logs(from)), HasSubstr(named)) << from;
    EXPECT_EQ(logs("0x0", "0x0").at("result").as_array().size(), 0U) << "block 0 is";
    EXPECT_EQ(logs(rpc::quantity(oldest)).at("result").as_array().size(), 1U);
    EXPECT_EQ(world.result("eth_getLogs", {json::object{{"topics", {kTopic}}}}).as_array().size(), 1U);
    const std::string filter =
        text(world.result("eth_newFilter", {json::object{{"fromBlock", "0x0"}, {"topics", {kTopic}}}}));
    EXPECT_THAT(text(world.error("eth_getFilterLogs", {filter}).at("message")), HasSubstr(named));

    const json::object range{{"fromBlock", rpc::quantity(oldest)}, {"topics", {kTopic}}};
    EXPECT_THAT(message(overtaken('l', "eth_getLogs", {range})), HasSubstr("is not kept; the oldest is"));
}

/// The event that closed it was pruned, but the dispute was not.
TEST(RpcForgettingDispute, IsToldWithoutWhatDecidedIt) {
    const PreparedExecutor executor;
    market::Params params = default_params();
    RpcWorld world(&executor, market::encode(params),
                   {.state_window = 4, .proof_window = 4, .block_window = 10, .threads = 1});
    for (int i = 0; i < 5; ++i) world.mine();
    world.store.after_read_of('l', [&] {
        for (int i = 0; i < 30; ++i) world.mine();
    });
    const json::object dispute = world.result("retrace_dispute", {"0x1"}).as_object();
    EXPECT_GT(world.chain->oldest_block(), 5U) << "all blocks that it went through were pruned meanwhile";
    ASSERT_TRUE(dispute.contains("decision")) << json::serialize(dispute);
    EXPECT_TRUE(dispute.at("decision").is_null());
}

TEST(RpcBrokenRule, EndsTheQuestionAlone) {
    RpcWorld world;
    for (const char* method : {"eth_call", "eth_estimateGas"}) {
        const json::object error = world.error(method, {toy_bytes_call({ToyExecutor::break_rule})});
        EXPECT_EQ(error.at("code"), -32603);
        EXPECT_EQ(error.at("message"), "internal error");
    }
    EXPECT_EQ(world.result("eth_call", {toy_bytes_call({ToyExecutor::echo})}), "0x01");
}

TEST(RpcBrokenRuleDeathTest, InABlockEndsTheNode) {
    RpcWorld world;
    world.send(world.make_tx(0, ToyExecutor::contract(), 0, {ToyExecutor::break_rule}));
    EXPECT_DEATH(world.mine(), "invariant broken: a rule of the toy");
}

}  // namespace
}  // namespace retrace::node::test
