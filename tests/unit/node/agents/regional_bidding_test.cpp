// SPDX-License-Identifier: MIT
// What an agent asks for a seat in a group with regions, of whose rounds on the ledger every second one is trained and paid.
#include <gtest/gtest.h>

#include "contracts/records/store.hpp"
#include "kernels/commit/contract.hpp"
#include "node/agents/bidding.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

namespace keys = contracts::keys;
using ledger::Address;
using ledger::U256;

class NothingStored final : public ledger::StateView {
public:
    ledger::Account account(const Address&) const override { return {}; }
    Bytes slot(const Address&, View) const override { return {}; }
};

struct RegionalBidding : ::testing::Test {
    test::TemporaryFolder folder;
    NothingStored nothing;
    ledger::State state{nothing};
    const Address self{{9}};
    market::Params params;

    RegionalBidding() {
        params.contract_hash = kernels::contract_hash();
        market::Stake stake;
        stake.bonded = U256(1'000'000'000) * U256(market::kMilli);
        contracts::store(state, keys::stake(self), stake);
    }
    /// A group of eight with so many rounds of training; `regions` of 0: on the ledger there are no others.
    Quote quote(std::uint8_t regions, const Bidding::Options& options, std::uint64_t ceiling_milli,
                std::uint64_t base_fee = 1) {
        market::GroupSpec group;
        group.rounds = regions == 0 ? 20 : 40;
        group.regions = regions;
        group.steps_max = 10;
        group.round_blocks = group.merge_blocks = 100;
        contracts::store(state, keys::group_spec(1), group);
        market::Group open;
        open.task = 1;
        contracts::store(state, keys::group(1), open);
        market::TaskSpec spec;
        spec.contract_hash = params.contract_hash;
        spec.steps = group.rounds + 1;
        spec.interval = 1;
        spec.step_cost = 1'000'000'000'000;
        spec.replicas = 8;
        spec.allow_unaudited = true;
        spec.price_ceiling = U256(ceiling_milli) * U256(market::kMilli);
        Bidding bidding(options, folder.path() / "bids", self);
        bidding.set_machine(1e9, 1);
        return bidding.quote(state, params, U256(base_fee), 1, spec);
    }
};

TEST_F(RegionalBidding, AsksForWhatARoundIsWorth) {
    Bidding::Options options;
    options.groups = true;
    options.min_per_hour = U256(36'000) * U256(market::kMilli);  // 10 coins for the 1,000 seconds of a training.
    const Quote flat = quote(0, options, 50'000), regional = quote(2, options, 50'000);
    ASSERT_TRUE(flat.price.has_value()) << flat.why_not;
    ASSERT_TRUE(regional.price.has_value()) << regional.why_not;
    // In two rounds it trains once, and expects half of a price in one of two for merging: 5 prices for 4 trainings.
    const U256 per_training = *regional.price * U256(5) / U256(4);
    const U256 off = *flat.price / U256(50);
    EXPECT_LT(per_training, *flat.price + off) << flat.price->to_decimal() << " " << regional.price->to_decimal();
    EXPECT_GT(per_training + off, *flat.price);
}

TEST_F(RegionalBidding, AsksForTheFeesOfSegmentsThatMerge) {
    Bidding::Options options;
    options.groups = true;
    constexpr std::uint64_t kHighFee = 46'000'000'000;  // The fees of a segment are above four fifths of the ceiling.
    const Quote flat = quote(0, options, 500, kHighFee), regional = quote(2, options, 500, kHighFee);
    ASSERT_TRUE(flat.price.has_value()) << flat.why_not;
    ASSERT_TRUE(regional.price.has_value()) << regional.why_not;
    // 12 segments are committed to for 10 prices; those of the auction and the start are divided by more rounds.
    EXPECT_GT(*regional.price * U256(100), *flat.price * U256(115));
    EXPECT_LT(*regional.price * U256(100), *flat.price * U256(121));
}

}  // namespace
}  // namespace retrace::node
