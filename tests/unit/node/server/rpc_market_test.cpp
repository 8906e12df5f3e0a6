// SPDX-License-Identifier: MIT
// The retrace_ methods about the market, during an auction.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "ledger/crypto/keccak.hpp"
#include "market/rollbacks.hpp"
#include "node/explain/task_reason.hpp"
#include "node/server/http/event.hpp"
#include "tests/unit/node/rpc_market_world.hpp"

namespace retrace::node::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using RpcMarket = MarketWorld;

json::object bid_of(const json::value& explanation, const std::string& bidder) {
    for (const json::value& bid : explanation.at("bids").as_array()) {
        if (text(bid.at("bidder")) == bidder) return bid.as_object();
    }
    ADD_FAILURE() << "no bid of " << bidder << " in " << json::serialize(explanation);
    return {};
}

json::object event_of(const json::value& events, std::string_view name) {
    for (const json::value& event : events.as_array()) {
        if (text(event.at("event")) == name) return event.as_object();
    }
    throw std::runtime_error("no such event");
}

TEST_F(RpcMarket, ShowsATaskFromPostingToAssignment) {
    post();
    const json::value posted = world.result("retrace_task", {"0x1"});
    EXPECT_EQ(posted.at("task").at("state"), "bidding");
    EXPECT_EQ(text(posted.at("task").at("requester")), address(0));
    EXPECT_EQ(posted.at("spec").at("name"), "digits");
    EXPECT_EQ(posted.at("segments"), "0x4");
    EXPECT_EQ(posted.at("runs").as_array().size(), 0U);
    EXPECT_TRUE(world.result("retrace_task", {"0x2"}).is_null());
    EXPECT_TRUE(world.result("retrace_task", {"0x1", "0x0"}).is_null()) << "it did not exist at height 0";
}

TEST_F(RpcMarket, ServesViewsAtPastHeights) {
    const Hash32 selector = ledger::keccak256(view(std::string_view("taskIds()")));
    const json::object call{{"to", ledger::to_0x(contracts::address_of(contracts::PostTask::kContract))},
                            {"data", to_0x(View(selector.bytes).first(4))}};
    const json::value before = world.result("eth_call", {call, "latest"});
    const std::string height = text(world.result("eth_blockNumber", {}));
    post();
    post();
    EXPECT_NE(world.result("eth_call", {call, "latest"}), before);
    EXPECT_EQ(world.result("eth_call", {call, height}), before);
    EXPECT_EQ(world.result("eth_call", {call, json::object{{"blockNumber", height}}}), before);
}

TEST_F(RpcMarket, ListsTasksNewestFirstByPages) {
    for (int i = 0; i < 3; ++i) post();
    const json::value first = world.result("retrace_tasks", {json::object{{"limit", 2}}});
    ASSERT_EQ(first.at("items").as_array().size(), 2U);
    EXPECT_EQ(first.at("items").at(0).at("id"), "0x3");
    EXPECT_EQ(first.at("next"), "0x2");
    const json::value rest = world.result("retrace_tasks", {json::object{{"before", first.at("next")}}});
    ASSERT_EQ(rest.at("items").as_array().size(), 1U);
    EXPECT_EQ(rest.at("items").at(0).at("id"), "0x1");
    EXPECT_TRUE(rest.at("next").is_null());
    EXPECT_EQ(world.result("retrace_tasks", {json::object{{"state", "settled"}}}).at("items").as_array().size(), 0U);
    EXPECT_EQ(world.result("retrace_tasks", {json::object{{"party", address(0)}}}).at("items").as_array().size(), 3U);
    EXPECT_EQ(world.result("retrace_tasks", {json::object{{"party", address(4)}}}).at("items").as_array().size(), 0U);
}

TEST_F(RpcMarket, ListsReservationsByPartyStateAndTask) {
    add_solver(1);
    world.mine();
    const auto listed = [&](json::object query) {
        return world.result("retrace_reservations", {std::move(query)}).at("items").as_array();
    };
    EXPECT_TRUE(listed({}).empty());
    reserve(1);
    reserve(1);
    world.mine();
    ASSERT_EQ(listed({}).size(), 2U);
    EXPECT_EQ(listed({}).at(0).at("id"), "0x2") << "the newest first";
    EXPECT_EQ(listed({}).at(0).at("state"), "offered");
    EXPECT_EQ(listed({{"party", address(0)}}).size(), 2U) << "the requester";
    EXPECT_EQ(listed({{"party", address(0)}, {"limit", 1}}).size(), 2U) << "its own ones, beyond the limit";
    EXPECT_EQ(listed({{"party", address(0)}, {"before", "0x3"}}).size(), 0U) << "they are on the first page";
    EXPECT_EQ(listed({{"party", address(1)}}).size(), 2U) << "the solver";
    EXPECT_TRUE(listed({{"party", address(2)}}).empty());
    EXPECT_TRUE(listed({{"state", "accepted"}}).empty());
    EXPECT_EQ(listed({{"task", "0x0"}}).size(), 2U) << "they have not begun";
    EXPECT_EQ(listed({{"limit", 1}}).size(), 1U);
}

TEST_F(RpcMarket, SaysWhatAReservationWaitsFor) {
    add_solver(1);
    world.mine();
    reserve(1);
    world.mine();
    const json::value told = world.result("retrace_explainReservation", {"0x1"});
    const json::value listed = world.result("retrace_reservations", {json::object{}}).at("items").at(0);
    EXPECT_EQ(told.at("reservation"), listed);
    EXPECT_EQ(told.at("nextHeight"), listed.at("from"));
    EXPECT_THAT(json::value_to<std::string>(told.at("why")), HasSubstr("waits for the solver to accept it"));
    EXPECT_THAT(json::value_to<std::string>(told.at("remedy")), HasSubstr("retrace reservation accept 1"));
    EXPECT_EQ(told.at("spec").at("replicas"), 1);
    EXPECT_TRUE(world.result("retrace_explainReservation", {"0x2"}).is_null());
    EXPECT_EQ(world.error("retrace_explainReservation", {"one"}).at("code"), -32602);
}

TEST_F(RpcMarket, RefusesQueriesThatItDoesNotKnow) {
    for (const json::object& query :
         {json::object{{"limit", 0}}, json::object{{"limit", 101}}, json::object{{"limit", "0x1"}},
          json::object{{"colour", "red"}}, json::object{{"before", 7}}, json::object{{"task", "0x1"}}})
        EXPECT_EQ(world.error("retrace_tasks", {query}).at("code"), -32602) << json::serialize(query);
}

TEST_F(RpcMarket, ExplainsBidsWhileTheAuctionIsOpen) {
    for (const std::uint32_t i : {1, 2}) add_solver(i);
    world.mine();
    post();
    commit(1, 100'000);
    world.mine();
    json::value open = world.result("retrace_explainBids", {"0x1", address(2)});
    EXPECT_EQ(open.at("closed"), false);
    EXPECT_EQ(bid_of(open, address(1)).at("outcome"), "sealed");
    EXPECT_EQ(open.at("solver").at("bid"), false);
    EXPECT_EQ(open.at("solver").at("obstacles").as_array().size(), 0U);
    EXPECT_THAT(text(open.at("solver").at("why")), HasSubstr("no rule forbids one"));
    EXPECT_EQ(world.result("retrace_bids", {"0x1"}).as_array().size(), 1U);
    mine_to(task().bid_end - 1);
    reveal(1, 100'000);
    world.mine();
    open = world.result("retrace_explainBids", {"0x1"});
    EXPECT_EQ(bid_of(open, address(1)).at("outcome"), "leading");
    EXPECT_TRUE(open.at("solver").is_null());
}

TEST_F(RpcMarket, ExplainsWhoWonWhoWasOutbidAndWhoDidNotReveal) {
    play_auction();
    EXPECT_EQ(task().state, market::TaskState::assigned);
    const json::value closed = world.result("retrace_explainBids", {"0x1", address(2)});
    EXPECT_EQ(closed.at("closed"), true);
    EXPECT_EQ(text(closed.at("examinedHeight")), rpc::quantity(task().reveal_end - 1));
    const json::object won = bid_of(closed, address(1));
    EXPECT_EQ(won.at("outcome"), "won");
    EXPECT_EQ(won.at("rank"), 1);
    EXPECT_EQ(text(won.at("paid")), rpc::quantity(200'000)) << "the second price";
    EXPECT_EQ(won.at("paid"), world.result("retrace_task", {"0x1"}).at("runs").at(0).at("price"));
    EXPECT_EQ(bid_of(closed, address(2)).at("outcome"), "outbid");
    EXPECT_EQ(bid_of(closed, address(2)).at("rank"), 2);
    EXPECT_EQ(bid_of(closed, address(3)).at("outcome"), "hidden");
    EXPECT_THAT(text(closed.at("solver").at("why")), HasSubstr("place 2 of 2"));
    EXPECT_EQ(world.result("retrace_bids", {"0x1"}).as_array().size(), 0U) << "bids are gone once it is closed";
}

TEST_F(RpcMarket, ExplainsWhatATaskWaitsForAndWhyItEnded) {
    const auto told = [&] { return world.result("retrace_explainTask", {"0x1"}); };
    post();
    json::value why = told();
    EXPECT_EQ(why.at("state"), "bidding");
    EXPECT_EQ(why.at("reason"), "no_bids_yet");
    EXPECT_THAT(text(why.at("why")), HasSubstr("nobody has bid yet; no solver without a bid is registered"));
    EXPECT_THAT(text(why.at("remedy")), HasSubstr("retrace solver"));
    EXPECT_EQ(text(why.at("next")), "bids are revealed");
    EXPECT_EQ(text(why.at("nextHeight")), rpc::quantity(task().bid_end));
    mine_to(task().reveal_end);
    why = told();
    EXPECT_EQ(why.at("state"), "expired");
    EXPECT_EQ(why.at("reason"), "no_bids");
    EXPECT_THAT(text(why.at("why")), AllOf(HasSubstr("nobody bid in 1 auction"), HasSubstr("the escrow was returned")));
    EXPECT_THAT(text(why.at("remedy")), HasSubstr("post it again when this is mended"));
    EXPECT_EQ(text(why.at("next")), "");
    EXPECT_TRUE(why.at("nextHeight").is_null());
    EXPECT_TRUE(world.result("retrace_explainTask", {"0x9"}).is_null());
}

TEST_F(RpcMarket, ExplainsBidsThatWereNotRevealedAndTheWinnersTurn) {
    const auto told = [&] { return world.result("retrace_explainTask", {"0x1"}); };
    add_solver(1);
    add_solver(2);
    world.mine();
    post();
    commit(1, 100'000);
    world.mine();
    json::value why = told();
    EXPECT_EQ(why.at("reason"), "bids_sealed");
    EXPECT_EQ(text(why.at("why")), "1 bid is sealed so far");
    mine_to(task().bid_end);
    EXPECT_EQ(told().at("reason"), "bids_revealed");
    EXPECT_EQ(text(told().at("why")), "0 of 1 bid are revealed");
    mine_to(task().reveal_end);
    why = told();
    EXPECT_EQ(why.at("reason"), "no_bids");
    EXPECT_THAT(text(why.at("why")), AllOf(HasSubstr(address(1)), HasSubstr("never revealed"),
                                           HasSubstr("1 solver without a bid is registered: 1 stopped by no rule")));
}

TEST_F(RpcMarket, ExplainsWhatTheWinnersOwe) {
    play_auction();
    const json::value why = world.result("retrace_explainTask", {"0x1"});
    EXPECT_EQ(why.at("reason"), "fetching_data");
    EXPECT_EQ(text(why.at("nextHeight")), rpc::quantity(contracts::views::run(*world.chain->view(), 1, 0)->deadline));
}

/// Programs switch on them.
TEST(TaskReasons, HaveDistinctNames) {
    std::set<std::string_view> names;
    for (unsigned i = 1; i <= static_cast<unsigned>(last_of(TaskReason{})); ++i)
        EXPECT_TRUE(names.insert(slug(static_cast<TaskReason>(i))).second) << i;
    EXPECT_FALSE(names.contains("unknown"));
}

TEST_F(RpcMarket, NamesEveryRuleThatKeepsASolverFromBidding) {
    post();
    const auto slugs = [&](std::uint32_t index) {
        std::vector<std::string> out;
        const json::value told = world.result("retrace_explainBids", {"0x1", address(index)});
        for (const json::value& rule : told.at("solver").at("obstacles").as_array())
            out.push_back(text(rule.at("slug")));
        return out;
    };
    const std::string floor(contracts::slug(contracts::CallStatus::stake_too_low));
    const std::string stranger(contracts::slug(contracts::CallStatus::not_registered));
    const std::string own(contracts::slug(contracts::CallStatus::own_task));
    EXPECT_EQ(slugs(4), (std::vector<std::string>{stranger, floor}));
    EXPECT_EQ(slugs(0), (std::vector<std::string>{own, stranger, floor}));
    add_solver(4);
    world.mine();
    EXPECT_EQ(slugs(4), std::vector<std::string>{});
    EXPECT_TRUE(world.result("retrace_explainBids", {"0x9"}).is_null());
}

TEST_F(RpcMarket, ShowsWhoHadTheMessagesOfARound) {
    namespace keys = contracts::keys;
    post();
    world.mine();
    market::Group group;
    group.task = 1;
    group.phase = market::GroupPhase::revealing;
    group.committed = {1, 0};
    group.revealed = {0, 1};
    market::GroupSpec terms;
    terms.rounds = 2;
    const auto put = [&](const std::optional<market::Round>& record) {
        executor.beside_the_rules = [&, record](ledger::State& state) {
            contracts::store(state, keys::group_spec(1), terms);
            contracts::store(state, keys::group(1), group);
            for (const std::uint32_t run : {0, 1}) {
                contracts::store(state, keys::round_message(1, 0, run),
                                 market::RoundMessage{0, 10, {Hash32{{7}}}, record && run == 0});
                // Run 0 has nothing, run 1 has both; what they say of their own message does not count.
                const Bytes bitmap{std::uint8_t(run == 0 ? 0 : 3)};
                if (record)
                    contracts::remove(state, keys::holding(1, 0, run));
                else
                    contracts::store(state, keys::holding(1, 0, run), market::Holding{Hash32{{8}}, bitmap});
            }
            if (record) contracts::store(state, keys::round(1, 0), *record);
        };
        mine_to(world.chain->height() + 1);
        executor.beside_the_rules = nullptr;
    };
    put(std::nullopt);
    EXPECT_EQ(world.result("retrace_group", {"0x1"}).at("group").at("phase"), "revealing");
    EXPECT_EQ(world.result("retrace_group", {"0x1"}).at("spec").at("rounds"), 2);
    EXPECT_TRUE(world.result("retrace_group", {"0x2"}).is_null());
    EXPECT_TRUE(world.result("retrace_round", {"0x1", "0x0"}).at("record").is_null());
    EXPECT_TRUE(world.result("retrace_round", {"0x1", "0x1"}).is_null()) << "it has not begun";

    group.round = 1;
    group.phase = market::GroupPhase::training;
    group.committed.clear();
    group.revealed.clear();
    put(market::Round{0, world.chain->height() + 1, 2, {{0, 10}}, 10, {0, 1}});
    const json::value round = world.result("retrace_round", {"0x1", "0x0"});
    EXPECT_EQ(round.at("record").at("entries").at(0).at("run"), 0);
    ASSERT_EQ(round.at("messages").as_array().size(), 2U) << "in the order of the block before";
    const json::value &lost = round.at("messages").at(0), &recorded = round.at("messages").at(1);
    EXPECT_EQ(lost.at("run"), 1);
    EXPECT_EQ(lost.at("notListedBy"), (json::array{0}));
    EXPECT_EQ(lost.at("listedBy"), json::array());
    EXPECT_EQ(recorded.at("run"), 0);
    EXPECT_EQ(recorded.at("listedBy"), (json::array{1}));
}

TEST_F(RpcMarket, TellsWhatASegmentOfAMemberTakesInAndWhatWasUndone) {
    namespace keys = contracts::keys;
    post();
    executor.beside_the_rules = [&](ledger::State& state) {
        market::GroupSpec terms;
        terms.rounds = 3;
        market::Group group;
        group.task = 1;
        group.phase = market::GroupPhase::training;
        contracts::store(state, keys::group_spec(1), terms);
        contracts::store(state, keys::group(1), group);
        contracts::store(state, keys::rollbacks(1), market::Rollbacks{{{5, 1, 2, false}}, 0, 0});
        market::Run run;
        run.task = 1;
        run.state = market::RunState::running;
        contracts::store(state, keys::run(1, 0), run);
        for (const std::uint32_t base : {1, 2}) {
            market::Segment segment;
            segment.state = market::SegmentState::unaudited;
            market::MemberSegment span;
            span.base = base;
            span.steps = 4;
            span.age = 1;
            contracts::store(state, keys::segment(1, 0, base - 1), segment);
            contracts::store(state, keys::member_segment(1, 0, base - 1), span);
        }
    };
    world.mine();
    executor.beside_the_rules = nullptr;
    const json::value rollbacks = world.result("retrace_group", {"0x1"}).at("rollbacks");
    ASSERT_EQ(rollbacks.as_array().size(), 1U);
    EXPECT_EQ(rollbacks.at(0).at("first"), 1);
    const json::value segments = world.result("retrace_segments", {"0x1", "0x0"});
    ASSERT_EQ(segments.as_array().size(), 2U);
    EXPECT_EQ(segments.at(0).at("member").at("base"), 1);
    EXPECT_EQ(segments.at(0).at("member").at("steps"), 4);
    EXPECT_EQ(segments.at(0).at("undone"), false);
    EXPECT_EQ(segments.at(1).at("undone"), true) << "it has read the record that was undone";
}

TEST_F(RpcMarket, TellsTheEventsOfATaskDecoded) {
    play_auction();
    std::vector<std::string> names;
    const json::value events = world.result("retrace_taskEvents", {"0x1"});
    for (const json::value& event : events.as_array()) {
        EXPECT_EQ(event.at("task"), "0x1");
        names.push_back(text(event.at("event")));
    }
    EXPECT_THAT(names, testing::IsSupersetOf({"TaskPosted", "BidCommitted", "BidRevealed", "BidForfeited",
                                              "TaskAssigned", "TaskStateChanged"}));
    EXPECT_TRUE(world.result("retrace_taskEvents", {"0x2"}).is_null());
    const std::string after = rpc::quantity(task().reveal_end);
    const json::value later = world.result("retrace_taskEvents", {"0x1", after});
    for (const json::value& event : later.as_array()) EXPECT_EQ(text(event.at("height")), after);
}

TEST_F(RpcMarket, ExplainsARefusedTransactionByTheVerdictThatItsRevertCarries) {
    post();
    const std::string refused = commit(4, 100'000);
    world.mine();
    const json::value told = world.result("retrace_explainTransaction", {refused});
    EXPECT_EQ(told.at("success"), false);
    EXPECT_EQ(text(told.at("refusal").at("slug")), contracts::slug(contracts::CallStatus::not_registered));
    EXPECT_EQ(told.at("refusal").at("code"), static_cast<int>(contracts::CallStatus::not_registered));
    const std::string posted = text(world.result("eth_getBlockByNumber", {"0x1", false}).at("transactions").at(0));
    EXPECT_EQ(event_of(world.result("retrace_explainTransaction", {posted}).at("events"), "TaskPosted").at("task"),
              "0x1");
    EXPECT_TRUE(world.result("retrace_explainTransaction", {"0x" + std::string(64, '7')}).is_null());
}

TEST_F(RpcMarket, ShowsAuditsDisputesReportsAndParties) {
    const json::value audits = world.result("retrace_audits", {json::object{{"party", address(5)}}});
    ASSERT_EQ(audits.at("items").as_array().size(), 1U);
    EXPECT_EQ(audits.at("items").at(0), world.result("retrace_audit", {"0x1"}));
    EXPECT_EQ(audits.at("items").at(0).at("phase"), "closed");
    EXPECT_EQ(audits.at("items").at(0).at("seats").at(0).at("state"), "mismatched");
    EXPECT_TRUE(world.result("retrace_audit", {"0x2"}).is_null());

    const json::value dispute = world.result("retrace_dispute", {"0x1"});
    EXPECT_EQ(dispute.at("dispute").at("kind"), "audit");
    EXPECT_THAT(text(dispute.at("why")), HasSubstr("the solver lost after 8 rounds"));
    EXPECT_TRUE(dispute.at("phase").is_null());
    for (const char* query : {R"({"state":"open"})", R"({"task":"0x2"})"})
        EXPECT_EQ(world.result("retrace_disputes", {json::parse(query)}).at("items").as_array().size(), 0U);
    EXPECT_EQ(world.result("retrace_disputes").at("items").as_array().size(), 1U);

    EXPECT_EQ(world.result("retrace_report", {"0x1"}).at("state"), "answered");
    EXPECT_EQ(world.result("retrace_reports").at("items").at(0).at("kind"), "data");

    add_solver(1);
    world.mine();
    const json::value party = world.result("retrace_party", {address(1)});
    EXPECT_EQ(party.at("solver").at("endpoint"), "http://solver");
    EXPECT_TRUE(party.at("verifier").is_null());
    EXPECT_EQ(world.result("retrace_verifiers").as_array().size(), 0U);
    const json::value listed = world.result("retrace_solvers");
    const auto one = std::find_if(listed.as_array().begin(), listed.as_array().end(),
                                  [](const json::value& each) { return text(each.at("solver")) == address(1); });
    ASSERT_NE(one, listed.as_array().end()) << json::serialize(listed);
    EXPECT_EQ(one->at("info"), party.at("solver"));
    EXPECT_EQ(one->at("stake"), party.at("stake"));
    EXPECT_EQ(one->at("runs"), "0x0");
    EXPECT_THAT(text(world.error("retrace_solvers", {"0x999999"}).at("message")), HasSubstr("header not found"));
    EXPECT_EQ(world.result("retrace_beacon").at("mixedEpoch"), "0x0");
    EXPECT_EQ(world.result("retrace_params").at("bidBlocks"), "0x3");
}

TEST_F(RpcMarket, PushesProgressOfOneTaskOrOfAll) {
    struct Kept final : rpc::Subscriptions {
        std::vector<rpc::Subscription> all;
        std::string add(rpc::Subscription subscription) override {
            all.push_back(std::move(subscription));
            return "0x1";
        }
        bool remove(const std::string&) override { return true; }
    } kept;
    rpc::Caller caller{&kept};
    const auto subscribe = [&](json::array params) {
        const json::object request{
            {"jsonrpc", "2.0"}, {"id", 1}, {"method", "eth_subscribe"}, {"params", std::move(params)}};
        return world.dispatcher->handle(json::serialize(request), caller);
    };
    subscribe({"taskProgress", json::object{{"task", "0x1"}}});
    subscribe({"taskProgress", json::object{{"task", "0x2"}}});
    subscribe({"taskProgress"});
    EXPECT_THAT(subscribe({"taskProgress", json::object{{"job", "0x1"}}}), HasSubstr("-32602"));
    ASSERT_EQ(kept.all.size(), 3U);
    post();
    rpc::Event event(world.chain->tip());
    const auto told = [&](const rpc::Subscription& subscription) {
        json::array out;
        event.notify(rpc::Subscribed("0x1", subscription), [&](const rpc::Text& text) {
            out.push_back(json::parse(*text));
            return true;
        });
        return out;
    };
    const json::array mine = told(kept.all[0]);
    EXPECT_EQ(event_of(mine, "TaskPosted").at("arguments").at("name"), "digits");
    EXPECT_EQ(told(kept.all[1]).size(), 0U);
    EXPECT_EQ(told(kept.all[2]), mine);
}

}  // namespace
}  // namespace retrace::node::test
