// SPDX-License-Identifier: MIT
// Reasons of auctions whose states the node has forgotten.
#include "node/server/methods/auction_index.hpp"

#include <gmock/gmock.h>

#include "tests/unit/node/rpc_market_world.hpp"

namespace retrace::node::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A node that keeps few states. `forget` adds so many blocks that the auction's states are gone.
class ForgottenAuctions : public MarketWorld {
protected:
    ForgottenAuctions() : MarketWorld({.state_window = 16, .proof_window = 4, .block_window = 20, .threads = 1}) {}
    void forget() { mine_to(world.chain->height() + 40); }
    json::value explained() { return world.result("retrace_explainTask", {"0x1"}); }
    /// As after a restart: an index that knows only what is stored.
    void restart() {
        world.auctions = nullptr;
        restarted = std::make_unique<rpc::AuctionIndex>(world.auction_store, *world.chain);
    }
    std::unique_ptr<rpc::AuctionIndex> restarted;
};

TEST_F(ForgottenAuctions, KeepTheReasonOfATaskThatExpired) {
    add_solver(1);
    world.mine();
    post();
    mine_to(task().reveal_end);
    world.auctions->catch_up();
    json::value before = explained();
    EXPECT_EQ(before.at("reason"), "no_bids");
    forget();
    json::value after = explained();
    EXPECT_EQ(after.at("reason"), "no_bids");
    EXPECT_EQ(after.at("why"), before.at("why"));
    EXPECT_EQ(after.at("remedy"), before.at("remedy"));
    EXPECT_THAT(text(after.at("why")), HasSubstr("1 solver without a bid is registered: 1 stopped by no rule"));
}

TEST_F(ForgottenAuctions, KeepTheBidsAndWhyTheyWonOrNot) {
    play_auction();
    world.auctions->catch_up();
    const json::value before = world.result("retrace_explainBids", {"0x1"});
    forget();
    const json::value after = world.result("retrace_explainBids", {"0x1", address(4)});
    EXPECT_EQ(after.at("bids").as_array().size(), 3U);
    EXPECT_EQ(after.at("bids"), before.at("bids"));
    EXPECT_EQ(after.at("stakeFloor"), before.at("stakeFloor"));
    EXPECT_EQ(after.at("examinedHeight"), before.at("examinedHeight"));
    EXPECT_EQ(after.at("solver").at("bid"), false);
    EXPECT_THAT(text(after.at("solver").at("why")), HasSubstr("whether a rule stood in the way is not known"));
    EXPECT_THAT(text(world.result("retrace_explainBids", {"0x1", address(2)}).at("solver").at("why")),
                HasSubstr("place 2 of 2"));
}

TEST_F(ForgottenAuctions, AreNamedWhereTheNodeHasNoRecord) {
    post();
    mine_to(task().reveal_end);
    forget();
    world.auctions->catch_up();
    EXPECT_EQ(explained().at("reason"), "no_winner");
    EXPECT_THAT(text(explained().at("why")), HasSubstr("this node has no record of the auction that closed at block"));
    EXPECT_THAT(text(world.error("retrace_explainBids", {"0x1"}).at("message")),
                AllOf(HasSubstr("is not kept"), HasSubstr("no record of the auction")));
}

TEST_F(ForgottenAuctions, AreExaminedAfterARestartWhileTheirStatesAreKept) {
    post();
    mine_to(task().reveal_end + 3);
    EXPECT_FALSE(world.auctions->find(1)) << "the node was killed before";
    restart();
    restarted->catch_up();
    ASSERT_TRUE(restarted->find(1));
    EXPECT_EQ(restarted->find(1)->height, task().reveal_end - 1);
    forget();
    restart();
    EXPECT_TRUE(restarted->find(1)) << "it is stored";
}

TEST_F(ForgottenAuctions, OfATaskAreThoseOfTheNewestAuction) {
    add_solver(1);
    world.mine();
    post();
    const ledger::U256 raised = spec().price_ceiling * ledger::U256(2);
    send(0, contracts::TopUpTask{1, raised, 1}, market::escrow_of_top_up(spec(), params(), 0, raised).total());
    world.mine();
    mine_to(task().reveal_end);
    world.auctions->catch_up();
    EXPECT_EQ(world.auctions->find(1)->round, 1U);
    mine_to(task().reveal_end);
    world.auctions->catch_up();
    EXPECT_EQ(world.auctions->find(1)->round, 2U);
    forget();
    EXPECT_THAT(text(explained().at("why")), HasSubstr("nobody bid in 2 auctions"));
}

TEST_F(ForgottenAuctions, OfAnotherChainAreDeleted) {
    post();
    mine_to(task().reveal_end);
    world.auctions->catch_up();
    ASSERT_TRUE(world.auctions->find(1));
    ledger::MemoryStore other;
    const auto opened = ledger::Chain::open(other, world.chain->genesis(), executor, {});
    ASSERT_TRUE(opened);
    const rpc::AuctionIndex index(world.auction_store, **opened);
    EXPECT_FALSE(index.find(1));
}

TEST_F(ForgottenAuctions, AreExaminedByAThreadThatNewBlocksWake) {
    world.auctions->begin();
    post();
    mine_to(task().reveal_end);
    world.auctions->wake();
    for (int i = 0; i < 1000 && !world.auctions->find(1); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(world.auctions->find(1));
}

}  // namespace
}  // namespace retrace::node::test
