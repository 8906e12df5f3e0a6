// SPDX-License-Identifier: MIT
// One task locks a part of a solver's stake only, so that a bait does not keep it from all others.
#include "node/agents/stake_share.hpp"

#include <gmock/gmock.h>

#include "contracts/records/store.hpp"
#include "market/odds.hpp"
#include "node/agents/bidding.hpp"

namespace retrace::node {
namespace {

namespace keys = contracts::keys;
using ledger::U256;

const U256 kCoin = U256(1'000) * U256(market::kMilli);

U256 lock_of(std::uint64_t ceiling) {
    market::TaskSpec spec;
    spec.price_ceiling = U256(ceiling) * kCoin;
    spec.steps = spec.interval = 1;
    return market::stake_floor({}, spec).value();
}

TEST(StakeShare, ATaskTakesItsShareOrWhatAUsualOneLocks) {
    const market::Params params;
    EXPECT_EQ(usual_lock(params), lock_of(1));
    EXPECT_EQ(exceeds_share(params, lock_of(10), U256(1'000) * kCoin, 50), "");
    EXPECT_THAT(
        exceeds_share(params, lock_of(20), U256(1'000) * kCoin, 50),
        testing::AllOf(testing::HasSubstr("it locks 950 coins"), testing::HasSubstr("one task may lock 500 coins"),
                       testing::HasSubstr("--stake-share"), testing::HasSubstr("50 %")));
    EXPECT_EQ(exceeds_share(params, lock_of(20), U256(1'000) * kCoin, 100), "") << "the operator wants it";
    EXPECT_EQ(exceeds_share(params, lock_of(1), U256(60) * kCoin, 50), "") << "any task keeps so small a stake busy";
    EXPECT_NE(exceeds_share(params, lock_of(2), U256(100) * kCoin, 50), "");
}

class NothingStored final : public ledger::StateView {
public:
    ledger::Account account(const ledger::Address&) const override { return {}; }
    Bytes slot(const ledger::Address&, View) const override { return {}; }
};

/// A task of one segment at a ceiling of 20 would lock 950 of 1,000 coins, and could be taken back.
TEST(StakeShare, ABidderTakesNoBaitThatLocksNearlyAll) {
    NothingStored nothing;
    ledger::State state{nothing};
    const market::Params params;
    const ledger::Address self{{2}};
    market::TaskSpec bait;
    bait.price_ceiling = U256(20) * kCoin;
    bait.steps = bait.interval = 1;
    bait.contract_hash = params.contract_hash;
    bait.allow_unaudited = true;
    market::Task task;
    task.id = 1;
    task.state = market::TaskState::bidding;
    contracts::store(state, keys::params(), params);
    contracts::store(state, keys::spec(1), bait);
    contracts::store(state, keys::task(1), task);
    market::Stake stake;
    stake.bonded = U256(1'000) * kCoin;
    contracts::store(state, keys::stake(self), stake);
    Bidding::Options options;
    const auto quoted = [&](std::uint64_t share) {
        options.stake_share = share;
        return Bidding(options, {}, self).quote(state, params, U256(1), 1, bait);
    };
    EXPECT_FALSE(quoted(kStakeShare).price);
    EXPECT_THAT(quoted(kStakeShare).why_not, testing::HasSubstr("one task may lock 500 coins"));
    EXPECT_TRUE(quoted(100).price) << quoted(100).why_not;
}

}  // namespace
}  // namespace retrace::node
