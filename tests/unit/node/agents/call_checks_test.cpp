// SPDX-License-Identifier: MIT
#include "node/agents/call_checks.hpp"

#include <gmock/gmock.h>

#include "market/places.hpp"
#include "tests/unit/node/fake_node.hpp"

namespace retrace::node {
namespace {

namespace keys = contracts::keys;
using ledger::U256;
using market::TaskState;
using testing::AllOf;
using testing::HasSubstr;

struct CallChecks : testing::Test {
    test::FakeNode node;
    market::Task task;
    market::Bid bid;
    const ledger::Address bidder{{7}};

    CallChecks() {
        task.id = 3;
        task.bid_end = 20;
        task.reveal_end = 30;
        task.escrow = U256(1'000);
        task.state = TaskState::bidding;
        bid.locked = U256(5'001);
        node.put(keys::params(), market::Params{});
    }
    void put() {
        node.put(keys::task(3), task);
        node.put(keys::bid(3, bidder), bid);
    }
};

TEST_F(CallChecks, NameTheStateAndThoseThatAreAllowed) {
    task.state = TaskState::settled;
    const auto said =
        check_task_state(task, "be topped up", {TaskState::bidding, TaskState::assigned, TaskState::running});
    ASSERT_FALSE(said);
    EXPECT_EQ(said.error().message,
              "task 3 is settled, and can be topped up only while it is bidding, assigned or running");
    EXPECT_TRUE(check_task_state(task, "be read", {TaskState::settled}));
    put();
    RpcClient client = *RpcClient::connect(node.url());
    ChainReader chain{client};
    EXPECT_EQ(check_task_state(chain, 3, "be accepted", {TaskState::delivering}).error().message,
              "task 3 is settled, and can be accepted only while it is delivering");
    EXPECT_EQ(check_task_state(chain, 4, "be accepted", {TaskState::delivering}).error().message, "there is no task 4");
    EXPECT_THAT(cost_of_cancel(chain, 3).error().message, HasSubstr("only while it is bidding"));
}

TEST_F(CallChecks, TellWhatACancelBurns) {
    task.bidders = {bidder};
    put();
    RpcClient client = *RpcClient::connect(node.url());
    ChainReader chain{client};
    EXPECT_EQ(cost_of_cancel(chain, 3).value(), 6);
    node.height = 19;
    EXPECT_THAT(cost_of_cancel(chain, 3).error().message, AllOf(HasSubstr("being revealed"), HasSubstr("block 30")));
}

TEST_F(CallChecks, ACancelWithoutBidsIsFreeAtAnyTime) {
    put();
    node.height = 25;
    RpcClient client = *RpcClient::connect(node.url());
    ChainReader chain{client};
    EXPECT_EQ(cost_of_cancel(chain, 3).value(), 0);
}

TEST_F(CallChecks, SayThatAWaitWouldBeginAgain) {
    market::Stake stake;
    stake.unbonding = U256(2'000) * U256(market::kMilli);
    stake.unbond_height = 12;
    node.put(keys::stake(bidder), stake);
    RpcClient client = *RpcClient::connect(node.url());
    ChainReader chain{client};
    EXPECT_TRUE(check_nothing_unbonds(chain, ledger::Address{{8}}));
    EXPECT_THAT(check_nothing_unbonds(chain, bidder).error().message,
                AllOf(HasSubstr("2 coins that are free at block 12"), HasSubstr("another 10000 blocks"),
                      HasSubstr("--restart-wait")));
    node.height = 12;
    EXPECT_THAT(check_nothing_unbonds(chain, bidder).error().message, HasSubstr("2 coins that are free now"));
}

}  // namespace
}  // namespace retrace::node
