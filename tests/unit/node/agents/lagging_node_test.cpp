// SPDX-License-Identifier: MIT
// Of several nodes behind one address one lags: what it answers is not taken for an answer about blocks that it lacks.
#include <gmock/gmock.h>

#include "node/agents/event_log.hpp"
#include "tests/unit/node/fake_node.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;
using ledger::U256;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kTip = 100, kLagging = 95, kEvent = 98;

/// The first answer is of a node at kTip; `lagging` later ones are of a node at kLagging.
struct TwoNodes : testing::Test {
    TwoNodes() {
        node.answers = [this](const std::string& method, const json::array& params) -> std::string {
            if (method == "eth_blockNumber") {
                const bool lags = alternate ? asked != 0 && asked % 2 == 0 : asked != 0 && lagging-- > 0;
                ++asked;
                height = lags ? kLagging : kTip;
                return R"("result":)" + json::serialize(rpc::quantity(height));
            }
            if (method != "eth_getLogs") return {};
            const json::object& filter = params.at(0).as_object();
            json::array out;
            const json::value* const address = filter.if_contains("address");
            const bool in_range = height >= placed && *rpc::parse_u64(filter.at("toBlock")) >= placed;
            if (outside || (in_range && *address == sent.at("address"))) out.push_back(sent);
            return R"("result":)" + json::serialize(out);
        };
        place(kEvent);
    }
    void place(std::uint64_t at) {
        const ledger::Log log = contracts::to_log(
            contracts::EscrowReturned{.task = 7, .requester = ledger::Address{{1}}, .amount = U256(300)});
        json::array topics;
        for (const Hash32& topic : log.topics) topics.emplace_back(rpc::data(topic));
        sent = json::object{{"address", rpc::data(log.address)},
                            {"topics", std::move(topics)},
                            {"data", rpc::data(View(log.data))},
                            {"blockNumber", rpc::quantity(at)},
                            {"transactionHash", rpc::data(Hash32{{9}})}};
        placed = at;
    }
    test::FakeNode node;
    std::uint64_t height = 0, placed = 0;
    int asked = 0, lagging = 0;
    bool alternate = false;  ///< Instead every second answer is of the node at kLagging.
    bool outside = false;    ///< Also tells logs of blocks that were not asked for.
    json::object sent;
    std::vector<std::uint64_t> heights;
    EventLog events{{}, [this](std::uint64_t at, std::uint64_t, const std::string&) { heights.push_back(at); }};
    RpcClient client = std::move(RpcClient::connect(node.url())).value();
};

TEST_F(TwoNodes, AnEventThatTheLaggingOneLacksIsReadFromTheOther) {
    alternate = true;
    const auto read = events.advance(client);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_THAT(heights, ElementsAre(kEvent));
    EXPECT_EQ(events.height(), kTip);
}

TEST_F(TwoNodes, BlocksThatNoneHasInTimeAreNotCountedAsRead) {
    lagging = 1'000;
    const auto read = events.advance(client);
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message, AllOf(HasSubstr("is behind"), HasSubstr("up to 95, and not 100")));
    EXPECT_LT(events.height(), kEvent);
    lagging = 0;
    ASSERT_TRUE(events.advance(client));
    EXPECT_THAT(heights, ElementsAre(kEvent));
}

TEST_F(TwoNodes, BlocksThatTheChainHasAreReadThoughTheNewestHeightIsOfTheLaggingOne) {
    asked = 1;
    lagging = 3;
    ASSERT_TRUE(events.advance(client, {}, kTip));
    EXPECT_THAT(heights, ElementsAre(kEvent));
    EXPECT_EQ(events.height(), kTip);
}

TEST_F(TwoNodes, ALogThatWasNotAskedForIsRefused) {
    outside = true;
    const ledger::Address market = contracts::address_of(contracts::Contract::market);
    for (const std::uint64_t at : {kLagging - 1, kTip + 1}) {
        place(at);
        const auto logs = client.logs(market, kLagging, kLagging + 1);
        ASSERT_FALSE(logs) << at;
        EXPECT_THAT(logs.error().message, HasSubstr("is not what was asked for"));
    }
    place(kLagging);
    EXPECT_TRUE(client.logs(market, kLagging, kLagging + 1));
    EXPECT_FALSE(client.logs(ledger::Address{{3}}, kLagging, kLagging + 1)) << "of another contract";
    EXPECT_FALSE(client.logs_with({Hash32{{3}}}, kLagging, kLagging + 1)) << "of another event";
}

}  // namespace
}  // namespace retrace::node
