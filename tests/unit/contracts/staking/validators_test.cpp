// SPDX-License-Identifier: MIT
// Validators: keys, stake, places, jail, slashing, upgrades and shares of the beacon. SPEC 20.

#include "contracts/records/store.hpp"
#include "contracts/rules/staking/rules.hpp"
#include "tests/unit/contracts/staking/validators_fixture.hpp"

namespace retrace::contracts {
namespace {

TEST_F(Validators, AChainWithoutValidatorsHasAClosedSet) {
    EXPECT_EQ(send("carol", registration("carol", "carol")), CallStatus::set_closed);
    EXPECT_EQ(send("carol", BondValidator{1}), CallStatus::not_registered);
    next_epoch();
    EXPECT_TRUE(views::validator_set(state).empty());
}

TEST_F(Validators, TheFoundersAreTheFirstSet) {
    found({});
    EXPECT_EQ(powers(), (Powers{{"alice", kFounded}, {"bob", kFounded}}));
    next_epoch();
    EXPECT_EQ(powers(), (Powers{{"alice", kFounded}, {"bob", kFounded}}));
    EXPECT_TRUE(all<ValidatorPowerChanged>().empty()) << "nothing changed";
}

TEST_F(Validators, AClosedSetTakesNobodyAndStakeGivesNoPower) {
    found({});
    EXPECT_EQ(send("carol", registration("carol", "carol")), CallStatus::set_closed);
    ASSERT_EQ(send("alice", Deposit{}, U256(5) * kCoin), CallStatus::ok);
    EXPECT_EQ(send("alice", BondValidator{U256(5) * kCoin}), CallStatus::ok);
    next_epoch();
    EXPECT_EQ(powers()["alice"], kFounded);
}

TEST_F(Validators, AStrangerJoinsByStakeAtTheNextEpoch) {
    found(open_rules());
    join("carol", 7);
    EXPECT_EQ(powers().size(), 2U) << "elections are at the first block of an epoch";
    next_epoch();
    EXPECT_EQ(powers(), (Powers{{"alice", kFounded}, {"bob", kFounded}, {"carol", 7'000}}));
    const auto validators = executor.validators(state);
    ASSERT_EQ(validators.size(), 3U);
    ASSERT_EQ(all<ValidatorPowerChanged>().size(), 1U);
    EXPECT_EQ(all<ValidatorPowerChanged>()[0].key, key("carol"));
    EXPECT_EQ(executor.validator_of(state, address("carol"))->vrf_key, vrf("carol").key());
}

TEST_F(Validators, PlacesGoToThoseWithMostPower) {
    found(open_rules(), 1'000);
    join("carol", 7);
    join("dave", 3);
    next_epoch();
    EXPECT_EQ(powers()["carol"], 500U) << "a quarter of what votes";
    for (int i = 0; i < 12; ++i) next_epoch();
    EXPECT_EQ(powers().size(), 3U);
    EXPECT_EQ(powers()["carol"], 7'000U);
    EXPECT_EQ(powers()["dave"], 3'000U);
    // The founders are equal: the one with the lower account keeps its place.
    EXPECT_TRUE(powers().contains(party("alice") < party("bob") ? "alice" : "bob"));
    join("v1", 5);
    for (int i = 0; i < 4; ++i) next_epoch();
    EXPECT_EQ(powers(), (Powers{{"carol", 7'000}, {"dave", 3'000}, {"v1", 5'000}}));
    ASSERT_EQ(send("dave", UnbondValidator{U256(3) * kCoin}), CallStatus::ok);
    next_epoch();
    EXPECT_FALSE(powers().contains("dave"));
    EXPECT_EQ(powers().size(), 3U) << "a founder comes back";
}

TEST_F(Validators, OneThatLostItsPlaceTakesItBack) {
    found(open_rules(), 1'000);
    remove_from_list(state, keys::validator_candidates(), party("alice"));
    next_epoch();
    EXPECT_FALSE(powers().contains("alice"));
    EXPECT_EQ(send("bob", UnjailValidator{}), CallStatus::not_jailed);
    EXPECT_EQ(send("alice", UnjailValidator{}), CallStatus::ok);
    next_epoch();
    EXPECT_TRUE(powers().contains("alice"));
}

TEST_F(Validators, KeysAreProvedAndNeverRegisteredTwice) {
    found(open_rules());
    RegisterValidator call = registration("carol", "carol");
    call.signature.pop_back();
    EXPECT_EQ(send("carol", call), CallStatus::bad_validator_key);
    call = registration("carol", "carol");
    call.signature[3] ^= 1;
    EXPECT_EQ(send("carol", call), CallStatus::wrong_key_proof);
    call = registration("carol", "carol");
    call.vrf_proof[40] ^= 1;
    EXPECT_EQ(send("carol", call), CallStatus::wrong_key_proof);
    EXPECT_EQ(send("dave", registration("carol", "carol")), CallStatus::wrong_key_proof) << "a copied registration";
    EXPECT_EQ(send("carol", registration("carol", "alice")), CallStatus::key_taken);
    EXPECT_EQ(send("carol", registration("carol", "carol")), CallStatus::ok);
    EXPECT_EQ(send("dave", registration("dave", "carol")), CallStatus::key_taken);
}

TEST_F(Validators, StakeStaysLockedUntilItCanNoLongerBePunished) {
    found(open_rules());
    ASSERT_EQ(send("carol", Deposit{}, U256(7) * kCoin), CallStatus::ok);
    EXPECT_EQ(send("carol", BondValidator{kCoin}), CallStatus::not_registered);
    ASSERT_EQ(send("carol", registration("carol", "carol")), CallStatus::ok);
    EXPECT_EQ(send("carol", BondValidator{0}), CallStatus::amount_zero);
    EXPECT_EQ(send("carol", BondValidator{rules.min_stake - U256(1)}), CallStatus::stake_too_low);
    EXPECT_EQ(send("carol", BondValidator{U256(8) * kCoin}), CallStatus::stake_too_low) << "it has 7";
    ASSERT_EQ(send("carol", BondValidator{U256(7) * kCoin}), CallStatus::ok);
    EXPECT_EQ(views::stake(state, party("carol")).locked, U256(7) * kCoin);
    EXPECT_EQ(send("carol", BeginUnbond{1}), CallStatus::stake_too_low);
    EXPECT_EQ(send("carol", UnbondValidator{U256(8) * kCoin}), CallStatus::stake_too_low);
    EXPECT_EQ(send("carol", UnbondValidator{U256(7) * kCoin - U256(1)}), CallStatus::stake_too_low)
        << "less than the least would be left";
    EXPECT_EQ(send("carol", ReleaseValidator{}), CallStatus::nothing_unbonded);
    ASSERT_EQ(send("carol", UnbondValidator{U256(7) * kCoin}), CallStatus::ok);
    EXPECT_EQ(send("carol", ReleaseValidator{}), CallStatus::still_unbonding);
    advance(rules.unbond_blocks - 1);
    EXPECT_EQ(send("carol", ReleaseValidator{}), CallStatus::still_unbonding);
    next_block();
    EXPECT_EQ(send("carol", ReleaseValidator{}), CallStatus::ok);
    EXPECT_TRUE(views::stake(state, party("carol")).locked.is_zero());
    EXPECT_EQ(send("carol", BeginUnbond{U256(7) * kCoin}), CallStatus::ok);
}

TEST_F(Validators, AValidatorThatMissesMostVotesOfAWindowIsJailed) {
    found(open_rules());
    join("carol", 7);
    while (height < 20) next_block();
    miss("carol", 10);
    EXPECT_EQ(info("carol").jailed_until, 0U);
    EXPECT_TRUE(powers().contains("carol"));
    miss("carol", 1);
    EXPECT_EQ(info("carol").jailed_until, height + rules.jail_blocks);
    EXPECT_FALSE(powers().contains("carol")) << "at once";
    EXPECT_EQ(slashed("votes_missed"), U256(7) * kCoin / U256(100));
    EXPECT_EQ(info("carol").stake, U256(7) * kCoin - U256(7) * kCoin / U256(100));
    miss("carol", 20);  // CometBFT counts it for two blocks more.
    EXPECT_EQ(slashed("votes_missed"), U256(7) * kCoin / U256(100));
    next_epoch();
    EXPECT_FALSE(powers().contains("carol"));
    EXPECT_EQ(send("carol", UnjailValidator{}), CallStatus::still_jailed);
    advance(rules.jail_blocks);
    EXPECT_EQ(send("carol", UnjailValidator{}), CallStatus::ok);
    EXPECT_EQ(send("carol", UnjailValidator{}), CallStatus::not_jailed);
    EXPECT_EQ(send("dave", UnjailValidator{}), CallStatus::not_registered);
    next_epoch();
    EXPECT_EQ(powers()["carol"], 6'930U);
}

TEST_F(Validators, VotesMissedInAnEarlierWindowAreForgotten) {
    found(open_rules());
    join("carol", 7);
    while (height < 20) next_block();
    miss("carol", 10);
    while (height < 40) next_block();
    miss("carol", 10);
    EXPECT_EQ(info("carol").jailed_until, 0U);
}

TEST_F(Validators, OneThatSignsTwiceLosesStakeOnceAndNeverComesBack) {
    found(open_rules());
    join("carol", 8);
    ASSERT_EQ(send("carol", UnbondValidator{U256(4) * kCoin}), CallStatus::ok);
    next_epoch();
    sign_twice("carol");
    EXPECT_FALSE(powers().contains("carol"));
    // 5 % of all that is locked: what is about to leave voted too.
    EXPECT_EQ(slashed("signed_twice"), U256(400) * market::kMilli);
    EXPECT_EQ(info("carol").stake + info("carol").leaving, U256(7'600) * market::kMilli);
    sign_twice("carol");
    EXPECT_EQ(slashed("signed_twice"), U256(400) * market::kMilli);
    EXPECT_EQ(send("carol", registration("carol", "carol again")), CallStatus::double_signed);
    EXPECT_EQ(send("carol", UnjailValidator{}), CallStatus::double_signed);
    EXPECT_EQ(send("carol", BondValidator{kCoin}), CallStatus::double_signed);
    next_epoch();
    EXPECT_FALSE(powers().contains("carol"));
    EXPECT_EQ(send("carol", UnbondValidator{info("carol").stake}), CallStatus::ok) << "the rest is its own";
}

TEST_F(Validators, AReplacedKeyStillAnswersForWhatItSigned) {
    found(open_rules());
    join("carol", 7);
    next_epoch();
    ASSERT_EQ(send("carol", registration("carol", "new")), CallStatus::ok);
    EXPECT_EQ(views::validator_set(state).size(), 3U);
    EXPECT_EQ(executor.validator_of(state, address("carol"))->account, party("carol"));
    events.clear();
    next_epoch();
    ASSERT_EQ(all<ValidatorPowerChanged>().size(), 2U) << "the old key leaves, the new one enters";
    sign_twice("carol");
    EXPECT_TRUE(info("carol").double_signed);
    EXPECT_FALSE(powers().contains("carol"));
}

TEST_F(Validators, TheLastValidatorStays) {
    found(open_rules(), 1'000);
    sign_twice("alice");
    EXPECT_EQ(powers(), (Powers{{"bob", 1'000}}));
    sign_twice("bob");
    EXPECT_EQ(powers(), (Powers{{"bob", 1'000}})) << "a chain without validators stands still for ever";
    next_epoch();
    EXPECT_EQ(powers(), (Powers{{"bob", 1'000}}));
    join("carol", 7);
    next_epoch();
    EXPECT_EQ(powers(), (Powers{{"carol", 7'000}}));
}

TEST_F(Validators, ReportsAboutStrangersChangeNothing) {
    found(open_rules());
    const Bytes before = market::encode_record(info("alice"));
    miss("nobody", 50);
    sign_twice("nobody");
    EXPECT_EQ(market::encode_record(info("alice")), before);
    EXPECT_EQ(powers().size(), 2U);
}

/// Of those that are not in the set: members that vote do not give way to whom nobody has seen voting.
TEST_F(Validators, AFullListOfCandidatesTakesTheRicher) {
    found(open_rules(), 1'000);
    auto listed = std::vector<Address>{party("alice"), party("bob")};
    while (listed.size() < market::kValidatorCandidatesMax) {
        listed.push_back(party("candidate " + std::to_string(listed.size())));
        market::ValidatorInfo poor;
        poor.granted = 1'500;
        store(state, keys::validator(listed.back()), poor);
    }
    std::ranges::sort(listed);
    store_list(state, keys::validator_candidates(), listed);
    ASSERT_EQ(send("carol", Deposit{}, U256(7) * kCoin), CallStatus::ok);
    ASSERT_EQ(send("carol", registration("carol", "carol")), CallStatus::ok);
    EXPECT_EQ(send("carol", BondValidator{kCoin}), CallStatus::validators_full) << "the poorest have as much";
    EXPECT_EQ(send("carol", BondValidator{U256(2) * kCoin}), CallStatus::ok);
    listed = list<Address>(state, keys::validator_candidates());
    EXPECT_EQ(listed.size(), market::kValidatorCandidatesMax);
    EXPECT_TRUE(std::ranges::binary_search(listed, party("carol")));
    EXPECT_TRUE(std::ranges::binary_search(listed, party("alice")));
    EXPECT_TRUE(std::ranges::binary_search(listed, party("bob")));
}

// --- upgrades ---

TEST_F(Validators, MoreThanTwoThirdsDecideWhenTheNextRulesBegin) {
    found(open_rules(), 1'000);
    join("carol", 1);  // three validators of equal power
    for (int i = 0; i < 3; ++i) next_epoch();
    ASSERT_EQ(powers()["carol"], 1'000U);
    const std::uint64_t at = height + 12;
    EXPECT_EQ(send("dave", VoteUpgrade{2, at}), CallStatus::not_in_set);
    EXPECT_EQ(send("alice", VoteUpgrade{3, at}), CallStatus::wrong_version);
    EXPECT_EQ(send("alice", VoteUpgrade{1, at}), CallStatus::wrong_version);
    EXPECT_EQ(send("alice", VoteUpgrade{2, height + params.epoch_blocks}), CallStatus::wrong_height);
    EXPECT_EQ(send("alice", VoteUpgrade{2, at + 1}), CallStatus::wrong_height) << "in the middle of an epoch";
    ASSERT_EQ(send("alice", VoteUpgrade{2, at}), CallStatus::ok);
    ASSERT_EQ(send("bob", VoteUpgrade{2, at}), CallStatus::ok);
    EXPECT_EQ(views::upgrade(state).version, 0U) << "two of three are not more than two thirds";
    ASSERT_EQ(send("carol", VoteUpgrade{2, at + params.epoch_blocks}), CallStatus::ok);
    EXPECT_EQ(views::upgrade(state).version, 0U) << "another height is another proposal";
    ASSERT_EQ(send("carol", VoteUpgrade{2, at}), CallStatus::ok);
    EXPECT_EQ(views::upgrade(state).height, at);
    ASSERT_EQ(all<UpgradeDecided>().size(), 1U);
    ASSERT_EQ(send("bob", VoteUpgrade{0, 0}), CallStatus::ok);
    EXPECT_EQ(views::upgrade(state).votes.size(), 2U);
    EXPECT_EQ(views::upgrade(state).height, at) << "decided is decided";

    const Executor newer({}, 2);
    EXPECT_FALSE(executor.missing_rules(state, at - 1).has_value());
    ASSERT_TRUE(executor.missing_rules(state, at).has_value());
    EXPECT_THAT(*executor.missing_rules(state, at), ::testing::HasSubstr("version 2 of the rules"));
    EXPECT_FALSE(newer.missing_rules(state, at).has_value());
    while (height < at) next_block();
    EXPECT_EQ(views::upgrade(state).current, 2U);
    EXPECT_EQ(views::upgrade(state).version, 0U);
    EXPECT_TRUE(views::upgrade(state).votes.empty());
    EXPECT_TRUE(executor.missing_rules(state, height + 1).has_value());
    EXPECT_EQ(send("alice", VoteUpgrade{3, height + 20}), CallStatus::ok) << "then the version after it";
}

TEST_F(Validators, VotesOfThoseThatHaveLeftDoNotCount) {
    found(open_rules(), 1'000);
    join("carol", 1);
    next_epoch();
    const std::uint64_t at = height + 5 * params.epoch_blocks;
    ASSERT_EQ(send("carol", VoteUpgrade{2, at}), CallStatus::ok);
    sign_twice("carol");
    ASSERT_EQ(send("alice", VoteUpgrade{2, at}), CallStatus::ok);
    EXPECT_EQ(views::upgrade(state).version, 0U);
    EXPECT_EQ(views::upgrade(state).votes.size(), 1U);
    ASSERT_EQ(send("bob", VoteUpgrade{2, at}), CallStatus::ok);
    EXPECT_EQ(views::upgrade(state).version, 2U);
}

// --- shares of the beacon ---

class BeaconShares : public Validators {
protected:
    /// The beacon of epoch 1 with these shares in the first block of that epoch.
    Hash32 beacon_with(const std::function<std::vector<ledger::BeaconShare>()>& shares) {
        found(open_rules());
        while (height < params.epoch_blocks) next_block();
        auto wanted = shares();
        if (!wanted.empty()) share_votes(std::move(wanted));
        next_epoch();
        const auto beacon = views::beacon(state);
        EXPECT_EQ(beacon->epoch, 1U);
        return beacon->value;
    }
};

TEST_F(BeaconShares, AreMixedIntoTheBeaconOfTheEpochThatBegins) {
    const Hash32 without = beacon_with([&] { return std::vector<ledger::BeaconShare>{}; });
    const Hash32 one = beacon_with([&] { return std::vector{share("alice", 3)}; });
    const Hash32 both = beacon_with([&] { return std::vector{share("alice", 3), share("bob", 3)}; });
    EXPECT_NE(without, one);
    EXPECT_NE(one, both);
    EXPECT_EQ(both, beacon_with([&] { return std::vector{share("bob", 3), share("alice", 3)}; }));
    next_epoch();
    EXPECT_FALSE(load<Digest>(state, keys::beacon_shares(1)).has_value()) << "a mixed share is not kept";
}

/// Contracts' SPEC 11.3.5: the proposer of an epoch's first block chooses shares before it can know a reveal.
TEST_F(BeaconShares, AreChosenBeforeTheFirstReveal) {
    found(open_rules());
    market::VerifierInfo member;
    member.member = true;
    member.head = link("v1", 1);
    store(state, keys::verifier(party("v1")), member);
    const RevealBeacon call{link("v1", 0)};
    const auto admitted = [&](std::uint64_t at) {
        const TxContext context{party("v1"), {}, at, params};
        return admit(call, context, state);
    };
    const std::uint64_t first = 2 * params.epoch_blocks;
    EXPECT_EQ(admitted(first), CallStatus::reveal_not_due);
    EXPECT_EQ(admitted(first + 1), CallStatus::ok);
    EXPECT_EQ(admitted(first + params.epoch_blocks - 1), CallStatus::ok);
    remove(state, keys::validator_rules());
    EXPECT_EQ(admitted(first), CallStatus::ok) << "without validators there are no shares";
}

TEST_F(BeaconShares, OfOtherHeightsStrangersAndForgersDoNotCount) {
    const Hash32 without = beacon_with([&] { return std::vector<ledger::BeaconShare>{}; });
    EXPECT_EQ(without, beacon_with([&] { return std::vector{share("alice", 2)}; }));
    EXPECT_EQ(without, beacon_with([&] { return std::vector{share("stranger", 3)}; }));
    EXPECT_EQ(without, beacon_with([&] {
                  auto forged = share("alice", 3);
                  forged.validator = address("bob");
                  return std::vector{forged};
              }));
    const Hash32 one = beacon_with([&] { return std::vector{share("alice", 3)}; });
    EXPECT_EQ(one, beacon_with([&] { return std::vector{share("alice", 3), share("alice", 3)}; }));
}

TEST_F(BeaconShares, InTheMiddleOfAnEpochDoNotCount) {
    found(open_rules());
    while (height < params.epoch_blocks + 1) next_block();
    share_votes({share("alice", height - 1)});
    EXPECT_FALSE(load<Digest>(state, keys::beacon_shares(1)).has_value());
}

}  // namespace
}  // namespace retrace::contracts
