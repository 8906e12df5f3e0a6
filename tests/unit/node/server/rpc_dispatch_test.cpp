// SPDX-License-Identifier: MIT
// The JSON-RPC envelope: ids, notifications, batches, and invalid input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node::test {
namespace {

int code_of(const std::string& answer) {
    return static_cast<int>(json::parse(answer).at("error").at("code").as_int64());
}

TEST(RpcEnvelope, EchoesTheIdOfAnyKind) {
    RpcWorld world;
    for (const char* id : {"1", "\"abc\"", "null", "-5", "1.5"}) {
        const std::string answer =
            world.raw(std::string(R"({"jsonrpc":"2.0","method":"eth_chainId","id":)") + id + "}");
        EXPECT_EQ(json::serialize(json::parse(answer).at("id")), json::serialize(json::parse(id)));
    }
}

/// A client that finds another id than its own in the answer takes it for the answer to another request.
TEST(RpcEnvelope, AnIdIsEchoedDigitForDigit) {
    RpcWorld world;
    const auto answer = [&](const std::string& id) {
        return world.raw(R"({"jsonrpc":"2.0","method":"eth_chainId","id":)" + id + "}");
    };
    for (const char* id : {"18446744073709551615", "-9223372036854775808", "9007199254740993", "18446744073709551616",
                           "100000000000000000000001", "-9223372036854775809", "1e300", "1.50", "-0.0"}) {
        EXPECT_THAT(answer(id), testing::HasSubstr(std::string("\"id\":") + id + ",")) << id;
        const std::string second = R"([{"jsonrpc":"2.0","method":"eth_chainId","id":[1e5]},)"
                                   R"({"jsonrpc":"2.0","id":2e5,"id":)" +
                                   std::string(id) + R"(,"method":"eth_chainId","params":[]}])";
        EXPECT_THAT(world.raw(second), testing::HasSubstr(std::string("\"id\":") + id + ",\"result\"")) << id;
    }
    EXPECT_EQ(json::parse(answer("[1.5]")).at("id"), nullptr);
    EXPECT_EQ(json::parse(answer(R"({"id":1.5})")).at("id"), nullptr);
}

TEST(RpcEnvelope, DoesNotAnswerNotifications) {
    RpcWorld world;
    EXPECT_EQ(world.raw(R"({"jsonrpc":"2.0","method":"eth_chainId"})"), "");
    EXPECT_EQ(world.raw(R"([{"jsonrpc":"2.0","method":"eth_chainId"}])"), "");
    EXPECT_EQ(json::parse(world.raw(R"([{"jsonrpc":"2.0","method":"eth_chainId"},
                                        {"jsonrpc":"2.0","id":7,"method":"eth_chainId"}])"))
                  .as_array()
                  .size(),
              1U);
}

TEST(RpcEnvelope, RefusesWhatIsNoRequest) {
    RpcWorld world;
    for (const char* bad :
         {"null", "1", "\"x\"", "{}", R"({"jsonrpc":"1.0","id":1,"method":"eth_chainId"})",
          R"({"id":1,"method":"eth_chainId"})", R"({"jsonrpc":"2.0","id":1})", R"({"jsonrpc":"2.0","id":1,"method":5})",
          R"({"jsonrpc":"2.0","id":{},"method":"eth_chainId"})", "[]"}) {
        EXPECT_EQ(code_of(world.raw(bad)), -32600) << bad;
    }
    const json::value batch = json::parse(world.raw("[1]"));
    ASSERT_TRUE(batch.is_array());
    EXPECT_EQ(batch.at(0).at("error").at("code"), -32600);
    EXPECT_EQ(code_of(world.raw(R"({"jsonrpc":"2.0","id":1,"method":"nothing","params":{"a":1}})")), -32601)
        << "of a method that there is not no parameters are wrong";
    EXPECT_EQ(code_of(world.raw(R"({"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":{"a":1}})")), -32602);
    EXPECT_EQ(json::parse(world.raw(R"({"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":null})")).at("result"),
              "0x1c82");
}

TEST(RpcEnvelope, RefusesWhatIsNoJson) {
    RpcWorld world;
    for (const std::string& bad :
         {std::string(""), std::string("{"), std::string("{\"a\":}"), std::string("\xff\xfe"), std::string("{}x"),
          std::string("\"\xc3\x28\""), std::string("[1,]"), std::string(1, '\0'), std::string("nul")}) {
        const json::value answer = json::parse(world.raw(bad));
        EXPECT_EQ(answer.at("error").at("code"), -32700) << bad;
        EXPECT_TRUE(answer.at("id").is_null());
    }
}

TEST(RpcEnvelope, RefusesJsonBombs) {
    RpcWorld world;
    EXPECT_EQ(code_of(world.raw(std::string(1'000'000, '['))), -32700);
    EXPECT_EQ(code_of(world.raw(std::string(100, '[') + std::string(100, ']'))), -32700);
    std::string wide = "[0";
    for (int i = 0; i < 1'000'000; ++i) wide += ",0";
    EXPECT_EQ(code_of(world.raw(wide + "]")), -32600);
    EXPECT_EQ(code_of(world.raw("{\"jsonrpc\":\"2.0\",\"id\":1e400,\"method\":\"x\"}")), -32601);
}

TEST(RpcEnvelope, AnswersAThousandAndRefusesMore) {
    RpcWorld world;
    const std::string one = R"({"jsonrpc":"2.0","id":1,"method":"eth_chainId"})";
    std::string batch = "[" + one;
    for (int i = 1; i < 1000; ++i) batch += "," + one;
    EXPECT_EQ(json::parse(world.raw(batch + "]")).as_array().size(), 1000U);
    EXPECT_EQ(code_of(world.raw(batch + "," + one + "]")), -32600);
}

// Five mebibytes hold millions of values, each of which takes many times the size of its text in memory.
TEST(RpcEnvelope, IsNotReadFurtherThanItMayBeAnswered) {
    RpcWorld world;
    const auto message = [&](const std::string& body) {
        return text(json::parse(world.raw(body)).at("error").at("message"));
    };
    std::string ones = "[1";
    for (int i = 0; i < 1000; ++i) ones += ",1";
    EXPECT_EQ(message(ones + ",this is no JSON"), "batch too large");
    EXPECT_EQ(message("[this is no JSON"), "parse error");
    EXPECT_EQ(message(ones.substr(0, ones.size() - 2) + ",this is no JSON"), "parse error") << "a thousand";
    const std::string begin = R"({"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[[)";
    const auto with = [&](std::size_t values) {
        std::string out = begin + "1";
        for (std::size_t i = 1; i < values; ++i) out += ",1";
        return out;
    };
    const std::size_t most = rpc::BodyLimits{}.values;
    EXPECT_EQ(message(with(most) + " this is no JSON"), "too many values in one body");
    EXPECT_EQ(message(with(most - 6) + "]]}"), "too many arguments, want at most 0") << "six others are in it";
    EXPECT_EQ(message(with(most - 5) + "]]}"), "too many values in one body");
    const auto object = [&](std::size_t members) {
        std::string out;
        for (std::size_t i = 0; i < members; ++i) out += (i == 0 ? "{\"" : ",\"") + std::to_string(i) + "\":1";
        return out + "}";
    };
    const std::size_t members = rpc::BodyLimits{}.members;
    EXPECT_EQ(message(object(members)), "invalid request");
    EXPECT_EQ(message(object(members + 1) + " this is no JSON"), "too many members in one object");
    const std::string nested = R"({"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[)" + std::string(20, '[') +
                               std::string(20, ']') + ",0,0,0]}";
    EXPECT_EQ(message(nested), "too many arguments, want at most 0") << "only requests count as a batch";
}

TEST(RpcEnvelope, BoundsTheAnswerOfABatch) {
    RpcWorld world;
    rpc::DispatchLimits limits;
    limits.response_bytes = 200;
    const rpc::Dispatcher small(world.router, limits);
    std::string batch = "[";
    for (int i = 0; i < 20; ++i) {
        batch += (i == 0 ? "" : ",") + std::string(R"({"jsonrpc":"2.0","id":1,"method":"eth_chainId"})");
    }
    rpc::Caller caller;
    const json::array answers = json::parse(small.handle(batch + "]", caller)).as_array();
    ASSERT_EQ(answers.size(), 20U);
    EXPECT_TRUE(answers.front().as_object().contains("result"));
    EXPECT_EQ(answers.back().at("error").at("code"), -32003);
}

TEST(RpcEnvelope, AHandlerThatThrowsIsAnInternalError) {
    rpc::Router router;
    router.add({"bug", "", {}, "Any", [](const rpc::Params&, rpc::Caller&) -> rpc::Answer {
                    throw std::runtime_error("secret detail");
                }});
    const rpc::Dispatcher dispatcher(router, {});
    rpc::Caller caller;
    const std::string answer = dispatcher.handle(R"({"jsonrpc":"2.0","id":1,"method":"bug"})", caller);
    EXPECT_EQ(code_of(answer), -32603);
    EXPECT_THAT(answer, testing::Not(testing::HasSubstr("secret")));
}

}  // namespace
}  // namespace retrace::node::test
