// SPDX-License-Identifier: MIT
// Behaviour of agents for tasks for which no auditor can be drawn, and for raises that may not pay.
#include <gmock/gmock.h>

#include "contracts/records/store.hpp"
#include "kernels/commit/contract.hpp"
#include "node/agents/bidding.hpp"
#include "node/agents/requester.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

namespace keys = contracts::keys;
using ledger::Address;
using ledger::U256;
using testing::HasSubstr;

constexpr std::uint64_t kMilliCoin = market::kMilli;
const U256 kLowBaseFee(1);

class EmptyView final : public ledger::StateView {
public:
    ledger::Account account(const Address&) const override { return {}; }
    Bytes slot(const Address&, View) const override { return {}; }
};

struct Unaudited : ::testing::Test {
    test::TemporaryFolder folder;
    EmptyView nothing;
    ledger::State state{nothing};
    const Address self{{9}}, requester{{1}}, leader{{2}};
    market::Params params;
    market::TaskSpec spec;
    market::Task task;

    Unaudited() {
        params.contract_hash = kernels::contract_hash();
        bond(self, 1'000'000);
        spec.program_root = spec.init_root = Hash32{{1}};
        spec.contract_hash = params.contract_hash;
        spec.steps = 10;
        spec.interval = 1;
        spec.finish_blocks = 100;
        spec.price_ceiling = U256(500) * U256(kMilliCoin);
        spec.auditors = 2;
        task.id = 1;
        task.requester = requester;
        task.state = market::TaskState::bidding;
        task.round = task.wanted = 1;
        task.bid_end = 110;
        task.reveal_end = 120;
        contracts::store(state, keys::task(1), task);
    }
    void bond(const Address& party, std::uint64_t milli) {
        market::Stake stake;
        stake.bonded = U256(milli) * U256(kMilliCoin);
        contracts::store(state, keys::stake(party), stake);
    }
    void add_verifier(const Address& party, std::uint64_t milli = 1'000) {
        market::VerifierInfo info;
        info.member = true;
        contracts::store(state, keys::verifier(party), info);
        contracts::add_to_list(state, keys::verifiers(), party);
        bond(party, milli);
    }
    /// The leader has committed to the states below `next`, one state every ten blocks from block 0 on.
    void run_leader(std::uint64_t next, std::uint64_t clear) {
        market::Run run;
        run.task = 1;
        run.solver = leader;
        run.state = market::RunState::running;
        run.next_state = next;
        run.finalised = clear;
        contracts::store(state, keys::run(1, 0), run);
        market::Checkpoint last;
        last.height = 10 * (next - 1);
        contracts::store(state, keys::checkpoint(1, 0, next - 1), last);
        task.state = market::TaskState::running;
        task.runs = 1;
        task.active = {0};
        task.joining_state = clear;
        task.bid_end = last.height + 5;
        task.reveal_end = last.height + 10;
        contracts::store(state, keys::task(1), task);
    }
    Quote quote(const U256& price) {
        const Bidding bidding({price, 0, {}}, folder.path() / "bids", self);
        return bidding.quote(state, params, kLowBaseFee, 1, spec);
    }
};

TEST_F(Unaudited, ASolverDeclinesWhatCouldWaitForAuditors) {
    const U256 price = U256(100) * U256(kMilliCoin);
    EXPECT_THAT(quote(price).why_not, HasSubstr("2 auditors and 0 could be drawn"));
    add_verifier(Address{{20}});
    for (const Address& barred : {self, requester}) add_verifier(barred, 1'000'000);
    add_verifier(Address{{21}}, 100);  // Its stake is too small for a bond to be locked.
    EXPECT_THAT(quote(price).why_not, HasSubstr("2 auditors and 1 could be drawn")) << "none of its parties";
    add_verifier(Address{{22}});
    EXPECT_EQ(quote(price).price, price);
    spec.allow_unaudited = true;
    for (const std::uint8_t id : {20, 21, 22}) contracts::remove_from_list(state, keys::verifiers(), Address{{id}});
    EXPECT_EQ(quote(price).price, price) << "it is paid in any case";
}

TEST_F(Unaudited, ASolverDoesNotBidWhereItIsExcluded) {
    spec.allow_unaudited = true;
    const U256 price = U256(100) * U256(kMilliCoin);
    EXPECT_EQ(quote(price).price, price);
    task.excluded = {self};
    contracts::store(state, keys::task(1), task);
    EXPECT_THAT(quote(price).why_not, HasSubstr("may not bid for it again"));
}

TEST_F(Unaudited, ASolverDoesNotBidWhereItsDiskIsFull) {
    spec.allow_unaudited = true;
    const U256 price = U256(100) * U256(kMilliCoin);
    EXPECT_EQ(lacks_room(folder.path(), {1, 0}), "");
    const std::string full = lacks_room(folder.path(), {std::uint64_t{1} << 62, 0});
    EXPECT_THAT(full, testing::AllOf(HasSubstr("there is no room on the disk for new work: "),
                                     HasSubstr("make room on the disk of " + folder.path().string())));
    Bidding bidding({price, 0, {}}, folder.path() / "bids", self);
    bidding.set_lacking_room(full);
    const Quote quoted = bidding.quote(state, params, kLowBaseFee, 1, spec);
    EXPECT_FALSE(quoted.price);
    EXPECT_EQ(quoted.why_not, full);
    bidding.set_lacking_room("");
    EXPECT_EQ(bidding.quote(state, params, kLowBaseFee, 1, spec).price, price) << "room was made";
}

TEST_F(Unaudited, ATaskIsNotPostedThatWouldWaitForAuditors) {
    add_verifier(Address{{20}});
    add_verifier(requester);
    const auto refused = check_auditors(state, params, spec, requester);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("2 auditors and 1 could be drawn"));
    EXPECT_THAT(refused.error().message, HasSubstr("--allow-unaudited")) << "the remedy";
    spec.auditors = 1;
    EXPECT_TRUE(check_auditors(state, params, spec, requester));
    spec.auditors = 2;
    spec.allow_unaudited = true;
    EXPECT_TRUE(check_auditors(state, params, spec, requester));
}

TEST_F(Unaudited, AReplicaAsksMoreForSegmentsThatItMayNotBePaidFor) {
    spec.allow_unaudited = true;
    const U256 price = U256(100) * U256(kMilliCoin);
    run_leader(3, 0);  // State 2 is committed at 20; until the end of the auction at 30 there is one more, and a
                       // margin.
    const auto quoted = quote(price).price;
    ASSERT_TRUE(quoted);
    EXPECT_EQ(*quoted, ledger::mul_div(price, 10, 6) + U256(1)) << "six of ten segments are paid for in any case";
    run_leader(9, 0);  // Only segments that are certain to be paid count, and there are none.
    EXPECT_FALSE(quote(price).price);
    run_leader(7, 0);
    EXPECT_FALSE(quote(price).price) << "five times the price is over the ceiling, or nothing is sure";
}

TEST_F(Unaudited, AReplicaLeavesWhenTooMuchWasCommittedByTheEndOfTheAuction) {
    const U256 price = U256(100) * U256(kMilliCoin);
    const Bidding bidding({price, 0, {}}, folder.path() / "bids", self);
    market::Run run;
    run.price = price * U256(2);
    EXPECT_TRUE(bidding.is_worth(kLowBaseFee, run, spec)) << "it did not join: all is paid";
    run.joined = true;
    run.not_awaited_below = 5;
    EXPECT_TRUE(bidding.is_worth(kLowBaseFee, run, spec)) << "five segments of twice the price";
    run.not_awaited_below = 6;
    EXPECT_FALSE(bidding.is_worth(kLowBaseFee, run, spec));
}

TEST_F(Unaudited, WhatIsNotFinalIsNotServedWhileNobodyAuditsIt) {
    market::Run run;
    run.task = 1;
    run.solver = self;
    run.state = market::RunState::running;
    run.next_state = 5;
    run.unaudited_since = 50;
    run.unaudited_from = 1;
    contracts::store(state, keys::run(1, 0), run);
    contracts::add_to_list(state, keys::open_runs(self), contracts::views::RunId{1, 0});
    for (std::uint8_t i = 0; i < 4; ++i) {
        market::Checkpoint point;
        point.opened = true;
        point.root = Hash32{{static_cast<std::uint8_t>(i + 1)}};
        contracts::store(state, keys::checkpoint(1, 0, i), point);
    }
    market::Segment segment;
    segment.state = market::SegmentState::auditing;
    segment.audit = 7;
    contracts::store(state, keys::segment(1, 0, 1), segment);
    market::Audit audit;
    audit.id = 7;
    audit.phase = market::AuditPhase::no_auditors;
    contracts::store(state, keys::audit(7), audit);
    Withheld withheld(100);
    withheld.update(state, 60, self);
    EXPECT_EQ(withheld.roots(), (std::set<Hash32>{Hash32{{3}}, Hash32{{4}}})) << "0 and 1 are needed";
    // The run ends unpaid: the solver keeps the states that it was not paid for.
    run.state = market::RunState::left;
    run.unaudited_since = 0;
    contracts::store(state, keys::run(1, 0), run);
    contracts::remove_from_list(state, keys::open_runs(self), contracts::views::RunId{1, 0});
    withheld.update(state, 61, self);
    EXPECT_EQ(withheld.roots().size(), 2u);
    withheld.update(state, 161, self);
    EXPECT_TRUE(withheld.roots().empty()) << "it is deleted by then";
    // Auditors have been found and need the states.
    run.state = market::RunState::running;
    run.unaudited_since = 50;
    contracts::store(state, keys::run(1, 0), run);
    contracts::add_to_list(state, keys::open_runs(self), contracts::views::RunId{1, 0});
    audit.phase = market::AuditPhase::collecting;
    contracts::store(state, keys::audit(7), audit);
    withheld.update(state, 162, self);
    EXPECT_TRUE(withheld.roots().empty());
}

}  // namespace
}  // namespace retrace::node
