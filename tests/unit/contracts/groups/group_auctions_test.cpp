// SPDX-License-Identifier: MIT
// A group that finds too few members in one auction looks for them in the next of its terms. SPEC 21.3, 12.12.
#include "contracts/records/auctions.hpp"
#include "tests/unit/contracts/groups/group_fixture.hpp"

namespace retrace::contracts {
namespace {

class GroupAuctions : public GroupTest {
protected:
    TaskSpec rising(std::uint8_t auctions) const {
        TaskSpec spec = spec_of(small_terms());
        spec.auctions = auctions;
        spec.last_ceiling = spec.price_ceiling * U256(3);
        return spec;
    }
    U256 ceiling() const { return views::spec(state, 1)->price_ceiling; }
    U256 balance() const { return state.account(party("requester")).balance; }
};

TEST_F(GroupAuctions, TooFewBidsRaiseTheCeilingAndTheSeatsAreSoldLater) {
    for (const char* name : {"v1", "v2", "v3", "v4"}) add_verifier(name);
    for (const char* name : {"alice", "bob", "carol", "dave"}) add_solver(name);
    advance(9);
    const U256 first = small_spec().price_ceiling;
    ASSERT_EQ(post_group(rising(3), small_terms()), CallStatus::ok) << last.revert_reason;
    auction({{"alice", 5}});
    ASSERT_EQ(task().state, TaskState::bidding) << "two members are the least";
    EXPECT_EQ(views::stake(state, party("alice")).locked, U256()) << "her lock is free until the next bid";
    EXPECT_EQ(ceiling(), first * U256(2));
    auction({{"alice", 5}, {"bob", 7}, {"carol", 9}, {"dave", 11}});
    ASSERT_EQ(task().state, TaskState::assigned);
    EXPECT_EQ(task().active.size(), 4u);
    EXPECT_EQ(group().price, 11) << "the highest winning bid, without a loser";
    for (const char* name : {"alice", "bob", "carol", "dave"}) ASSERT_EQ(send(name, AcceptData{1}), CallStatus::ok);
    begin_rounds();
    EXPECT_EQ(ceiling(), first * U256(2)) << "of its runs, too";
}

TEST_F(GroupAuctions, AfterTheLastOneTheGroupExpiresAndAllReturns) {
    const U256 before = balance();
    ASSERT_EQ(post_group(rising(2), small_terms()), CallStatus::ok);
    EXPECT_EQ(task().escrow, small_spec().price_ceiling * U256(3) * U256(4 * 4));
    const std::uint64_t first = task().reveal_end;
    while (height < first) next_block();
    EXPECT_EQ(ceiling(), small_spec().price_ceiling * U256(3));
    const std::uint64_t second = task().reveal_end;
    while (height < second) next_block();
    EXPECT_EQ(task().state, TaskState::expired);
    EXPECT_EQ(balance(), before);
    EXPECT_FALSE(views::auctions(state, 1));
}

TEST_F(GroupAuctions, NoneFollowsOnceSeatsWereSold) {
    for (const char* name : {"alice", "bob", "carol", "dave"}) add_solver(name);
    ASSERT_EQ(post_group(rising(3), small_terms()), CallStatus::ok);
    auction({{"alice", 5}, {"bob", 7}});
    ASSERT_EQ(task().state, TaskState::assigned);
    for (const char* name : {"alice", "bob"}) ASSERT_EQ(send(name, DeclineTask{1}), CallStatus::ok);
    ASSERT_TRUE(advance_until([&] { return market::is_final(task().state); }));
    EXPECT_EQ(task().round, 1u);
    EXPECT_EQ(send("requester", TopUpTask{1, ceiling(), 1}), CallStatus::group_task);
}

}  // namespace
}  // namespace retrace::contracts
