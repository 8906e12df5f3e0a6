// SPDX-License-Identifier: MIT
// Limits of state overrides in calls: no balances that the rules' books cannot hold, and no sender without a key.
#include <gmock/gmock.h>

#include "ledger/state/supply.hpp"
#include "tests/unit/node/rpc_market_world.hpp"

namespace retrace::node::test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

const std::string kMax = "0x" + std::string(64, 'f');
const std::string kStranger = "0x" + std::string(38, '0') + "aa";
constexpr std::array kMethods{"eth_call", "eth_estimateGas"};

class RpcOverrides : public MarketWorld {
protected:
    template <class Call>
    static json::object call_of(const std::string& from, const Call& call, const std::string& value = "0x0") {
        return {{"from", from},
                {"to", ledger::to_0x(contracts::address_of(Call::kContract))},
                {"value", value},
                {"data", to_0x(View(calldata(call)))}};
    }
    static json::object balance(const std::string& address, const std::string& amount = kMax) {
        return {{address, json::object{{"balance", amount}}}};
    }
};

TEST_F(RpcOverrides, ContractsHaveWhatTheirRecordsSay) {
    post();
    for (const contracts::Contract contract : contracts::kContracts) {
        const std::string native = ledger::to_0x(contracts::address_of(contract));
        for (const char* method : kMethods) {
            for (const std::string& amount : {std::string("0x0"), kMax}) {
                const json::object refused = world.error(
                    method, {call_of(address(0), contracts::CancelTask{1}), "latest", balance(native, amount)});
                EXPECT_EQ(refused.at("code"), -32602);
                EXPECT_EQ(text(refused.at("message")),
                          "invalid argument 2: override of " + native + " is not supported: it is a native contract");
            }
            const json::object refused = world.error(method, {call_of(native, contracts::CancelTask{1})});
            EXPECT_EQ(refused.at("code"), -32602);
            EXPECT_EQ(text(refused.at("message")),
                      "invalid argument 0: from: " + native + " is a native contract, which sends no calls");
        }
    }
    const std::string books = ledger::to_0x(ledger::ledger_address());
    EXPECT_EQ(
        world.error("eth_call", {call_of(address(0), contracts::CancelTask{1}), "latest", balance(books)}).at("code"),
        -32602);
    EXPECT_EQ(world.error("eth_call", {call_of(books, contracts::CancelTask{1})}).at("code"), -32602);
}

TEST_F(RpcOverrides, NobodyHasMoreThanThereIs) {
    add_solver(1);
    world.mine();
    const auto minted = ledger::minted(*world.chain->view());
    for (const char* method : kMethods) {
        // As the simulators of wallets send it: a very large balance, to see the effect of a call.
        const auto deposit = [&](const std::string& value, const json::object& overrides) {
            return world.request(method, {call_of(kStranger, contracts::Deposit{}, value), "latest", overrides})
                .as_object();
        };
        EXPECT_THAT(text(deposit(kMax, balance(kStranger)).at("error").at("message")),
                    testing::StartsWith("insufficient funds for transfer: have "));
        EXPECT_TRUE(deposit("0x1", balance(kStranger)).contains("result")) << method;
        EXPECT_TRUE(deposit("0x1", balance(kStranger, "0x1")).contains("result")) << method;
        EXPECT_TRUE(deposit("0x2", balance(kStranger, "0x1")).contains("error")) << method;
        const json::object all = deposit(minted.to_quantity(), balance(kStranger));
        EXPECT_TRUE(all.contains("result")) << json::serialize(all);
        // The sum of all overridden balances must fit one number, however many there are.
        json::object many = balance(kStranger);
        for (char digit = '1'; digit <= '9'; ++digit)
            many["0x" + std::string(40, digit)] = json::object{{"balance", kMax}};
        EXPECT_TRUE(deposit("0x1", many).contains("result")) << method;
    }
}

TEST_F(RpcOverrides, WhoIsPaidCanHaveAnything) {
    post();
    for (const char* method : kMethods) {
        const json::value refund =
            world.request(method, {call_of(address(0), contracts::CancelTask{1}), "latest", balance(address(0))});
        EXPECT_TRUE(refund.as_object().contains("result")) << json::serialize(refund);
    }
}

TEST_F(RpcOverrides, OfCodeAndSlotsAreRefusedByName) {
    const json::object call = call_of(address(0), contracts::Deposit{}, "0x1");
    for (const char* method : kMethods) {
        for (const char* name : {"code", "state", "stateDiff"}) {
            const auto with = [&](const json::value& value) {
                return json::array{call, "latest", json::object{{kStranger, json::object{{name, value}}}}};
            };
            EXPECT_EQ(text(world.error(method, with("0x00")).at("message")),
                      "invalid argument 2: override of " + std::string(name) + " is not supported: no EVM");
            EXPECT_FALSE(world.result(method, with(nullptr)).is_null()) << "as if it were left out";
        }
    }
}

TEST_F(RpcOverrides, AreCountedAndPaidFor) {
    const json::object call = call_of(address(0), contracts::Deposit{}, "0x1");
    const auto accounts = [](std::size_t count) {
        json::object out;
        for (std::size_t i = 0; i < count; ++i) {
            const std::string digits = std::to_string(1'000'000 + i);
            out["0x" + std::string(40 - digits.size(), '7') + digits] = json::object{{"balance", "0x1"}};
        }
        return out;
    };
    for (const std::string method : kMethods) {
        EXPECT_EQ(text(world.error(method, {call, "latest", accounts(257)}).at("message")),
                  "invalid argument 2: too many state overrides: 257, at most 256");
        world.result(method, {call, "latest", accounts(256)});
        const auto price = [&](std::size_t count) {
            rpc::RateLimiter limiter(0.001, 1'000);
            rpc::Allowance allowance(&limiter, "client");
            rpc::Caller caller;
            caller.allowance = &allowance;
            caller.client = "client";
            const auto answer = world.router.call(method, {call, "latest", accounts(count)}, caller);
            EXPECT_TRUE(answer.has_value());
            int left = 0;
            while (allowance.take()) ++left;
            return 1'000 - left;
        };
        EXPECT_GE(price(256), price(1) + 3 * 255 / 16 - 1) << "each is read, written and read again";
    }
}

TEST_F(RpcOverrides, HoldNothingElse) {
    const json::object call = call_of(address(0), contracts::Deposit{}, "0x1");
    const auto with = [&](const std::string& name, const json::value& value) {
        return json::array{call, "latest", json::object{{kStranger, json::object{{name, value}}}}};
    };
    for (const char* method : kMethods) {
        EXPECT_EQ(text(world.error(method, with("movePrecompileToAddress", "0x1")).at("message")),
                  "invalid argument 2: override of movePrecompileToAddress is not supported");
        EXPECT_LT(text(world.error(method, with(std::string(100'000, 'n'), 1)).at("message")).size(), 200U);
        world.result(method, with("movePrecompileToAddress", nullptr));
    }
}

TEST_F(RpcOverrides, OfTheBlockAreRefusedByName) {
    const json::object call = call_of(address(0), contracts::Deposit{}, "0x1");
    for (const char* method : kMethods) {
        for (const char* name : {"number", "time", "baseFeePerGas", "feeRecipient"}) {
            const json::object refused =
                world.error(method, {call, "latest", json::object(), json::object{{name, "0x1"}}});
            EXPECT_EQ(refused.at("code"), -32602);
            EXPECT_EQ(text(refused.at("message")),
                      "invalid argument 3: block override of " + std::string(name) + " is not supported");
        }
        const std::string big(100'000, 'n');
        EXPECT_LT(
            text(world.error(method, {call, "latest", json::object(), json::object{{big, 1}}}).at("message")).size(),
            200U);
        EXPECT_EQ(world.error(method, {call, "latest", json::object(), "0x1"}).at("code"), -32602);
        world.result(method, {call, "latest", json::object(), json::object()});
        world.result(method, {call, "latest", nullptr, json::object{{"number", nullptr}}});
    }
}

}  // namespace
}  // namespace retrace::node::test
