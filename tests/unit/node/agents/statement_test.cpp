// SPDX-License-Identifier: MIT
// The books of a task, and the lines of its log, of a chain that is longer than a node tells in one answer.
#include "node/agents/statement.hpp"

#include <gmock/gmock.h>

#include "contracts/calls/encode.hpp"
#include "node/agents/event_log.hpp"
#include "tests/unit/node/fake_node.hpp"

namespace retrace::node {
namespace {

namespace json = boost::json;
using ledger::U256;
using Kind = StatementLine::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ledger::Address kRequester{{1}}, kPaidSolver{{2}};
constexpr std::uint64_t kTask = 7, kPosted = 5, kEnded = 120'000;

/// A node that tells the events of at most 1,000 blocks in an answer, of the blocks that it keeps.
struct LongChain {
    test::FakeNode node;
    std::uint64_t oldest = 0;
    std::uint64_t told_to = 0;  ///< Highest block that was asked for.
    std::size_t asked = 0, refused = 0;
    int busy = 0;  ///< Answers that are refused by the rate limit.

    LongChain() {
        node.height = 300'000;
        node.answers = [this](const std::string& method, const json::array& params) { return answer(method, params); };
    }
    template <class Event>
    void add(std::uint64_t height, const Event& event) {
        const ledger::Log log = contracts::to_log(event);
        json::array topics;
        for (const Hash32& topic : log.topics) topics.emplace_back(rpc::data(topic));
        logs_.push_back({height, json::object{{"address", rpc::data(log.address)},
                                              {"topics", std::move(topics)},
                                              {"data", rpc::data(View(log.data))},
                                              {"blockNumber", rpc::quantity(height)},
                                              {"transactionHash", rpc::data(Hash32{{9}})}}});
    }
    RpcClient client() { return std::move(RpcClient::connect(node.url())).value(); }

private:
    static std::string refusal(int code, const std::string& message) {
        return R"("error":)" + json::serialize(json::object{{"code", code}, {"message", message}});
    }
    std::string answer(const std::string& method, const json::array& params) {
        if (method == "retrace_status") return R"("result":{"oldest_block":)" + std::to_string(oldest) + "}";
        if (method == "eth_getTransactionByHash")
            return R"("result":)" + json::serialize(json::object{{"from", rpc::data(kRequester)}, {"value", "0x3e8"}});
        if (method != "eth_getLogs") return {};
        ++asked;
        if (busy > 0) {
            --busy;
            return refusal(kRateLimited, "rate limit");
        }
        const json::object& filter = params.at(0).as_object();
        const std::uint64_t from = *rpc::parse_u64(filter.at("fromBlock")), to = *rpc::parse_u64(filter.at("toBlock"));
        if (to - from >= 1'000) {
            ++refused;
            return refusal(-32000, "block range is too wide: at most 1000 blocks");
        }
        if (from < oldest) return refusal(-32000, "pruned history unavailable");
        told_to = std::max(told_to, to);
        json::array out;
        for (const auto& [height, log] : logs_)
            if (height >= from && height <= to && log.at("address") == filter.at("address")) out.push_back(log);
        return R"("result":)" + json::serialize(out);
    }
    std::vector<std::pair<std::uint64_t, json::object>> logs_;
};

market::Task settled_task() {
    market::Task task;
    task.id = kTask;
    task.requester = kRequester;
    task.state = market::TaskState::settled;
    task.posted_height = kPosted;
    return task;
}

/// 1,000 wei in escrow, of which 700 are paid for segments; a rollback repays 40 past it.
void play(LongChain& chain) {
    chain.node.put(contracts::keys::task(kTask), settled_task());
    contracts::TaskPosted posted;
    posted.task = kTask;
    posted.requester = kRequester;
    chain.add(kPosted, posted);
    chain.add(60'000, contracts::SegmentsPaid{
                          .task = kTask, .solver = kPaidSolver, .run = 0, .first = 0, .count = 7, .amount = U256(700)});
    chain.add(60'001,
              contracts::SegmentsPaid{
                  .task = kTask + 1, .solver = kPaidSolver, .run = 0, .first = 0, .count = 7, .amount = U256(700)});
    chain.add(70'000, contracts::UndoneRepaid{.task = kTask, .run = 3, .requester = kRequester, .amount = U256(40)});
    chain.add(kEnded, contracts::EscrowReturned{.task = kTask, .requester = kRequester, .amount = U256(300)});
}

std::vector<Kind> kinds_of(const Statement& statement) {
    std::vector<Kind> out;
    for (const StatementLine& line : statement.lines) out.push_back(line.kind);
    return out;
}

TEST(Statement, OfALongChainIsReadPageByPageAndAddsUp) {
    LongChain chain;
    play(chain);
    auto client = chain.client();
    std::uint64_t pages = 0;
    PageOptions options;
    options.on_page = [&](std::uint64_t, std::uint64_t) { ++pages; };
    const auto told = task_statement(client, kTask, options);
    ASSERT_TRUE(told.has_value()) << told.error().message;
    EXPECT_TRUE(told->whole);
    EXPECT_TRUE(told->adds_up());
    EXPECT_THAT(kinds_of(*told), ElementsAre(Kind::posted, Kind::segments, Kind::repaid, Kind::returned));
    EXPECT_EQ(told->paid_in, U256(1'040)) << "what a rollback repays passes the escrow by: it is in both sums";
    EXPECT_EQ(told->paid_out, U256(1'040));
    EXPECT_EQ(told->repaid, U256(40));
    EXPECT_EQ(told->lines[2].run, 3u);
    EXPECT_EQ(told->lines[2].party, kRequester);
    EXPECT_GT(pages, 120u);
    EXPECT_LT(chain.refused, pages / 8) << "the length that a node answers is remembered";
    EXPECT_LT(chain.told_to, kEnded + 1'000) << "nothing moves after its end, so nothing is read";
}

TEST(Statement, WaitsWhereTheRateLimitRefusesIt) {
    LongChain chain;
    play(chain);
    chain.busy = 2;
    auto client = chain.client();
    const auto told = task_statement(client, kTask);
    ASSERT_TRUE(told.has_value()) << told.error().message;
    EXPECT_TRUE(told->adds_up());
}

TEST(Statement, IsOfTheBlocksThatThePrunedNodeKeeps) {
    LongChain chain;
    play(chain);
    chain.oldest = 65'000;
    auto client = chain.client();
    const auto told = task_statement(client, kTask);
    ASSERT_TRUE(told.has_value()) << told.error().message;
    EXPECT_FALSE(told->whole);
    EXPECT_EQ(told->from, 65'000u);
    EXPECT_EQ(told->brought_forward, U256(300)) << "what was returned in the end was there";
    EXPECT_THAT(kinds_of(*told), ElementsAre(Kind::repaid, Kind::returned));
}

TEST(EventLog, ReadsALongChainPageByPageAndGoesOnWhereItStopped) {
    LongChain chain;
    play(chain);
    std::vector<std::uint64_t> heights;
    EventLog log({}, [&](std::uint64_t height, std::uint64_t task, const std::string&) {
        if (task == kTask) heights.push_back(height);
    });
    auto client = chain.client();
    ASSERT_TRUE(log.advance(client));
    EXPECT_EQ(log.height(), 300'000u);
    EXPECT_THAT(heights, ElementsAre(kPosted, 60'000, 70'000, kEnded));
    chain.node.height = 301'500;
    chain.add(300'900, contracts::EscrowReturned{.task = kTask, .requester = kRequester, .amount = U256(1)});
    chain.oldest = 300'950;  // The node has erased a part of what is new.
    const auto lost = log.advance(client);
    ASSERT_FALSE(lost.has_value());
    EXPECT_THAT(lost.error().message, HasSubstr("pruned"));
    EXPECT_EQ(log.height(), 300'000u) << "nothing is skipped";
    chain.oldest = 0;
    ASSERT_TRUE(log.advance(client));
    EXPECT_EQ(log.height(), 301'500u);
    EXPECT_EQ(heights.back(), 300'900u);
    EXPECT_EQ(heights.size(), 5u) << "nothing is told twice";
}

TEST(BlockPages, EndWhereTheReaderHasEnoughAndNameABlockThatIsRefusedAlone) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> read;
    const PageOptions options{.blocks = 10};
    const auto enough = read_pages(1, 100, options, [&](std::uint64_t first, std::uint64_t last) {
        read.emplace_back(first, last);
        return Result<bool, RpcFailure>(last < 15);
    });
    ASSERT_TRUE(enough.has_value());
    EXPECT_EQ(*enough, 21u);
    EXPECT_THAT(read, ElementsAre(std::pair(1u, 10u), std::pair(11u, 20u)));
    std::uint64_t reached = 0;
    const auto refused =
        read_pages(1, 100, options, [&](std::uint64_t first, std::uint64_t last) -> Result<bool, RpcFailure> {
            if (first <= 33 && last >= 33) return Unexpected{RpcFailure{-32000, "too many", {}, false}};
            reached = last;
            return true;
        });
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(reached, 32u) << "all blocks before it";
    int calls = 0;
    const auto gone = read_pages(1, 100, options, [&](std::uint64_t, std::uint64_t) -> Result<bool, RpcFailure> {
        ++calls;
        return Unexpected{RpcFailure{0, "no answer", {}, true}};
    });
    EXPECT_FALSE(gone.has_value());
    EXPECT_EQ(calls, 1) << "a node that does not answer is not asked for less";
    EXPECT_EQ(read_pages(5, 4, options, [](auto, auto) { return Result<bool, RpcFailure>(true); }).value(), 5u);
}

}  // namespace
}  // namespace retrace::node
