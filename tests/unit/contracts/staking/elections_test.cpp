// SPDX-License-Identifier: MIT
// Elections under votes that are missing: who grows, who stays and who is jailed. Votes are those of the set that
// CometBFT has, which follows two blocks after ours. SPEC 20.4, 20.5.
#include <deque>

#include "contracts/records/store.hpp"
#include "tests/unit/contracts/staking/validators_fixture.hpp"

namespace retrace::contracts {
namespace {

using Names = std::set<std::string>;

class Elections : public Validators {
protected:
    static market::ValidatorRules slow_rules() {
        auto out = open_rules();
        out.places = 5;
        out.downtime_blocks = 1'000;  // Nobody is jailed for a whole window in time.
        return out;
    }
    void found_with(const Powers& founders, const market::ValidatorRules& wanted = slow_rules()) {
        market::Params with = small_params();
        with.epoch_blocks = 8;
        found(wanted, founders, with);
        sets_.clear();
    }
    /// Passes a block that reports who of these was asked to vote for the one before and did not.
    void pass_without(const Names& silent) {
        const auto now = views::validator_set(state);
        if (sets_.empty()) sets_.assign(2, now);
        sets_.push_back(now);
        if (sets_.size() > 3) sets_.pop_front();
        ledger::EngineReport given;
        for (const SetMember& member : sets_.front())
            if (is_one_of(silent, member)) given.missed.push_back(ledger::consensus_address(member.key));
        ++height;
        if (height > 1 && !given.missed.empty()) report(given);
        --height;
        next_block();
        check_share_of(silent);
    }
    void epoch_without(const Names& silent) {
        do pass_without(silent);
        while (height % params.epoch_blocks != 0);
    }
    /// Those that never vote have at most a quarter of the power that decides the next block.
    void check_share_of(const Names& silent) {
        std::uint64_t all = 0, theirs = 0;
        for (const SetMember& member : sets_[1]) {
            all += member.power;
            if (never_vote_.contains(name_of(member)) && silent.contains(name_of(member))) theirs += member.power;
        }
        EXPECT_LE(4 * theirs, all) << "at height " << height;
        most_silent_ = std::max(most_silent_, theirs);
    }
    static std::string name_of(const SetMember& member) {
        for (const char* name : {"alice", "bob", "carol", "dave", "v1", "v2", "v3", "v4"})
            if (member.account == party(name)) return name;
        return {};
    }
    static bool is_one_of(const Names& names, const SetMember& member) { return names.contains(name_of(member)); }

    Names never_vote_;
    std::uint64_t most_silent_ = 0;

private:
    std::deque<std::vector<SetMember>> sets_;  ///< Of the block before, of the next block and of the one after it.
};

TEST_F(Elections, PowerThatDoesNotVoteNeverStopsTheChain) {
    found_with({{"alice", 10'000}, {"bob", 10'000}});
    join("carol", 900);
    join("dave", 800);
    never_vote_ = {"carol", "dave"};
    for (int epoch = 0; epoch < 12; ++epoch) epoch_without(never_vote_);
    EXPECT_EQ(most_silent_, 5'000U) << "a quarter of what votes";
}

/// One that is silent in all epochs misses no more than half of a window's votes if it is a member in every second one.
TEST_F(Elections, OneThatNeverVotesIsAMemberOnceIn16Epochs) {
    found_with({{"alice", 10'000}, {"bob", 10'000}, {"v1", 10'000}, {"v2", 10'000}});
    join("carol", 900);
    never_vote_ = {"carol"};
    epoch_without(never_vote_);
    EXPECT_EQ(powers().at("carol"), 10'000U);
    epoch_without(never_vote_);
    EXPECT_FALSE(powers().contains("carol"));
    const std::uint64_t until = height + 16 * params.epoch_blocks;
    EXPECT_EQ(info("carol").jailed_until, until);
    EXPECT_EQ(info("carol").stake, U256(900) * kCoin) << "nothing is lost";
    ASSERT_EQ(all<ValidatorJailed>().size(), 1U);
    EXPECT_EQ(all<ValidatorJailed>()[0].until, until);
    for (int epoch = 0; epoch < 15; ++epoch) {
        EXPECT_EQ(send("carol", UnjailValidator{}), CallStatus::still_jailed);
        epoch_without(never_vote_);
        EXPECT_FALSE(powers().contains("carol")) << epoch;
    }
    epoch_without(never_vote_);
    ASSERT_EQ(send("carol", UnjailValidator{}), CallStatus::ok);
    epoch_without({});
    EXPECT_EQ(powers().at("carol"), 10'000U) << "it may try again";
    epoch_without({});
    EXPECT_EQ(powers().at("carol"), 22'500U) << "and grows once it votes";
}

TEST_F(Elections, AJailLongerThan16EpochsIsKept) {
    auto rules = slow_rules();
    rules.jail_blocks = 500;
    found_with({{"alice", 10'000}, {"bob", 10'000}}, rules);
    join("carol", 900);
    epoch_without({"carol"});
    epoch_without({"carol"});
    EXPECT_EQ(info("carol").jailed_until, height + 500);
}

TEST_F(Elections, AMemberThatHasVotedIsNotJailedForOneSilentEpoch) {
    found_with({{"alice", 10'000}, {"bob", 10'000}});
    join("carol", 8);
    epoch_without({});
    EXPECT_EQ(powers().at("carol"), 5'000U);
    epoch_without({});
    EXPECT_EQ(powers().at("carol"), 8'000U);
    epoch_without({"carol"});
    EXPECT_EQ(powers().at("carol"), 5'000U) << "what nobody has seen voting is taken back";
    epoch_without({"carol"});
    EXPECT_EQ(powers().at("carol"), 5'000U);
    EXPECT_EQ(info("carol").jailed_until, 0U);
}

/// It is asked for six votes in its first epoch.
TEST_F(Elections, SilenceIsMoreThanHalfOfAnEpoch) {
    for (const int missed : {4, 5}) {
        found_with({{"alice", 10'000}, {"bob", 10'000}});
        join("carol", 4);
        epoch_without({});
        for (int block = 0; block < 8; ++block)
            pass_without(block >= 2 && block < 2 + missed ? Names{"carol"} : Names{});
        EXPECT_EQ(powers().contains("carol"), missed == 4) << missed;
    }
}

TEST_F(Elections, ASilentCandidateTakesNoPlaceOfAMember) {
    found_with({{"alice", 10'000}, {"bob", 10'000}, {"v1", 10'000}, {"v2", 10'000}, {"v3", 1'000}});
    join("carol", 900);
    auto before = info("carol");
    before.missed_epoch = 0;
    before.epoch_missed = 5;
    store(state, keys::validator(party("carol")), before);
    epoch_without({});
    EXPECT_TRUE(powers().contains("v3"));
    EXPECT_FALSE(powers().contains("carol"));
    // One that nobody has seen silent does, if it is richer.
    join("dave", 900);
    epoch_without({});
    EXPECT_FALSE(powers().contains("v3"));
    EXPECT_TRUE(powers().contains("dave"));
}

TEST_F(Elections, JailDoesNotHideSilence) {
    auto rules = slow_rules();
    rules.downtime_blocks = 20;
    rules.jail_blocks = 2;
    found_with({{"alice", 10'000}, {"bob", 10'000}, {"v1", 10'000}, {"v2", 10'000}}, rules);
    join("carol", 2);
    while (height < 40) pass_without({});
    ASSERT_EQ(powers().at("carol"), 2'000U);
    while (height < 52) pass_without({"carol"});  // The eleventh is that for block 51, the fourth of its epoch.
    ASSERT_NE(info("carol").jailed_until, 0U);
    EXPECT_EQ(info("carol").missed_epoch, 6U);
    EXPECT_EQ(info("carol").epoch_missed, 8U);
    while (height < 54) pass_without({"carol"});
    ASSERT_EQ(send("carol", UnjailValidator{}), CallStatus::ok);
    // Then those that have not been silent come first, however much less they have.
    join("dave", 1);
    epoch_without({});
    EXPECT_FALSE(powers().contains("carol"));
    EXPECT_EQ(powers().at("dave"), 1'000U);
}

/// It is no member that was silent, which would keep what it had without the last growth.
TEST_F(Elections, OneThatComesBackInTheEpochOfItsJailGrows) {
    auto rules = slow_rules();
    rules.downtime_blocks = 20;
    rules.jail_blocks = 2;
    found_with({{"alice", 10'000}, {"bob", 10'000}, {"v1", 10'000}, {"v2", 10'000}}, rules);
    while (height < 40) pass_without({});
    while (height < 52) pass_without({"v2"});
    EXPECT_FALSE(powers().contains("v2"));
    while (height < 54) pass_without({});
    ASSERT_EQ(send("v2", UnjailValidator{}), CallStatus::ok);
    epoch_without({});
    EXPECT_EQ(powers().at("v2"), 7'500U);
}

/// One that comes first, but not so far that it gets a place, leaves the growth to others.
TEST_F(Elections, WhatGetsNoPlaceDoesNotGrowInVain) {
    auto full = slow_rules();
    full.places = 2;
    found_with({{"alice", 10'000}, {"bob", 10'000}}, full);
    join("carol", 900);
    ASSERT_EQ(send("alice", Deposit{}, U256(30) * kCoin), CallStatus::ok);
    ASSERT_EQ(send("alice", BondValidator{U256(30) * kCoin}), CallStatus::ok);
    for (int i = 0; i < 4; ++i) epoch_without({});
    EXPECT_EQ(powers().size(), 2U);
    EXPECT_GT(powers().at("alice"), 10'000U);
    EXPECT_FALSE(powers().contains("carol"));
}

TEST_F(Elections, WhoTakesAPlaceAddsAtMostAQuarterOfTheNewSet) {
    found_with({{"alice", 1'000}, {"bob", 1'000}, {"v1", 1'000}, {"v2", 1'000}, {"v3", 1'000}});
    join("carol", 900);
    never_vote_ = {"carol"};
    epoch_without(never_vote_);
    EXPECT_EQ(powers().at("carol"), 1'250U);
    EXPECT_EQ(powers().size(), 5U);
    for (int i = 0; i < 3; ++i) epoch_without(never_vote_);
    EXPECT_EQ(most_silent_, 1'250U);
    EXPECT_EQ(powers().size(), 5U) << "who lost its place has it again";
    EXPECT_FALSE(powers().contains("carol"));
}

TEST_F(Elections, ANewKeyHasThePowerOfTheOldOne) {
    found_with({{"alice", 10'000}, {"bob", 10'000}});
    ASSERT_EQ(send("alice", registration("alice", "new")), CallStatus::ok);
    epoch_without({});
    EXPECT_EQ(powers(), (Powers{{"alice", 10'000}, {"bob", 10'000}}));
    EXPECT_EQ(views::validator_set(state)[0].account == party("alice") ? views::validator_set(state)[0].key
                                                                       : views::validator_set(state)[1].key,
              registration("alice", "new").key);
}

/// A member that is down uses up the growth, which a new key does not need.
TEST_F(Elections, ANewKeyWhileAnotherMemberIsDownLosesNoPower) {
    found_with({{"alice", 10'000}, {"bob", 10'000}});
    join("carol", 5);
    for (int i = 0; i < 3; ++i) epoch_without({});
    ASSERT_EQ(powers(), (Powers{{"alice", 10'000}, {"bob", 10'000}, {"carol", 5'000}}));
    ASSERT_EQ(send("alice", registration("alice", "new")), CallStatus::ok);
    epoch_without({"bob"});
    EXPECT_EQ(powers().at("alice"), 10'000U);
}

TEST_F(Elections, GrowthThatDoesNotVoteIsTakenBack) {
    found_with({{"alice", 10'000}, {"bob", 10'000}});
    join("carol", 900);
    epoch_without({});
    EXPECT_EQ(powers().at("carol"), 5'000U);
    epoch_without({"carol"});
    EXPECT_FALSE(powers().contains("carol")) << "nobody saw it vote";
    join("dave", 5);
    epoch_without({"carol"});  // The engine asks it for two blocks more.
    EXPECT_EQ(powers(), (Powers{{"alice", 10'000}, {"bob", 10'000}, {"dave", 5'000}}));
}

TEST_F(Elections, AVoteCountsAtTheHeightOfItsBlock) {
    auto rules = slow_rules();
    rules.downtime_blocks = 20;
    found_with({{"alice", 10'000}, {"bob", 10'000}}, rules);
    while (height < 9) pass_without({});
    while (height < 31) {
        pass_without(height >= 10 && height < 30 ? Names{"bob"} : Names{});
        EXPECT_LE(info("bob").missed, 10U);
    }
    EXPECT_EQ(info("bob").missed_window, 1U);
    EXPECT_EQ(info("bob").missed, 10U) << "blocks 20 to 29; 10 to 19 are the window before";
    EXPECT_EQ(info("bob").jailed_until, 0U);
}

}  // namespace
}  // namespace retrace::contracts
