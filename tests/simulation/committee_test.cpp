// SPDX-License-Identifier: MIT
// The rotation of proposers, and what the ledger does to validators by the engine's reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/simulation/simulation.hpp"

namespace retrace::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Validators are numbered by the first byte of their addresses.
Rotation::Powers powers(const std::vector<std::uint64_t>& list) {
    Rotation::Powers out;
    for (std::size_t i = 0; i < list.size(); ++i) out[{static_cast<std::uint8_t>(i)}] = list[i];
    return out;
}
std::vector<int> turns(Rotation& rotation, std::size_t count) {
    std::vector<int> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(rotation.next()[0]);
    return out;
}

/// The sequence of CometBFT's specification for powers 1 and 3.
TEST(Rotation, GivesTurnsByWeight) {
    Rotation rotation;
    rotation.update(powers({1, 3}));
    EXPECT_THAT(turns(rotation, 8), ElementsAre(1, 0, 1, 1, 1, 0, 1, 1));
}

TEST(Rotation, WhoIsNewWaitsLongest) {
    Rotation rotation;
    rotation.update(powers({10, 10, 10}));
    (void)turns(rotation, 2);
    rotation.update(powers({10, 10, 10, 10}));
    const auto next = turns(rotation, 4);
    EXPECT_EQ(std::ranges::count(next, 3), 0);
    const auto later = turns(rotation, 40);
    EXPECT_EQ(std::ranges::count(later, 3), 10);
}

std::size_t longest_run(const std::vector<std::uint64_t>& weights, const std::vector<int>& bad) {
    Rotation rotation;
    rotation.update(powers(weights));
    std::size_t longest = 0, run = 0;
    for (const int one : turns(rotation, 2'000)) {
        run = std::ranges::count(bad, one) != 0 ? run + 1 : 0;
        longest = std::max(longest, run);
    }
    return longest;
}

/// What a run of malicious proposers can censor. One validator of almost a third has two turns in a row now and then.
/// Equal ones have as many as they are, when their addresses are neighbours; addresses can be chosen by trying keys.
TEST(Rotation, TheLongestRunBelowAThirdIsTheNumberOfEqualNeighbours) {
    EXPECT_EQ(longest_run({33, 34, 33}, {0}), 1u);
    EXPECT_EQ(longest_run({99, 67, 67, 67}, {0}), 2u);
    EXPECT_EQ(longest_run(std::vector<std::uint64_t>(7, 1), {2, 3}), 2u);
    std::vector<int> third(33);
    for (int i = 0; i < 33; ++i) third[static_cast<std::size_t>(i)] = i;
    EXPECT_EQ(longest_run(std::vector<std::uint64_t>(100, 1), third), 33u);
}

struct Traced {
    Outcome outcome;
    std::string trace;
    bool says(const std::string& words) const { return trace.find(words) != std::string::npos; }
};
Traced play_with(const std::vector<ValidatorRole>& validators) {
    Scenario scenario = calm_scenario();
    scenario.validators = validators;
    Traced out;
    RunOptions options;
    options.sink = [&](const std::string& line) { out.trace += line; };
    out.outcome = play(1, scenario, catalogue(), options);
    EXPECT_THAT(out.outcome.findings.violations, IsEmpty());
    return out;
}
ledger::U256 lost(const Outcome& outcome, const std::string& name) {
    return stake_of(ValidatorRole{}) - outcome.balances.at(name).bonded;
}

TEST(Validators, OneThatIsSilentIsJailedOnceAndComesBack) {
    std::vector<ValidatorRole> validators(4);
    validators[1].silent_from = 60;
    validators[1].silent_until = 130;
    const Traced played = play_with(validators);
    EXPECT_TRUE(played.says("ValidatorJailed account=validator-1"));
    EXPECT_TRUE(played.says("validator-1: ends its jail"));
    EXPECT_TRUE(played.says("reason=votes_missed"));
    EXPECT_EQ(lost(played.outcome, "validator-1"), stake_of(ValidatorRole{}) / ledger::U256(100));
    for (const char* name : {"validator-0", "validator-2", "validator-3"})
        EXPECT_TRUE(lost(played.outcome, name).is_zero()) << name;
}

/// A malicious proposer leaves the evidence out; the next honest one does not.
TEST(Validators, OneThatSignsTwiceIsSlashedOnceAndOut) {
    std::vector<ValidatorRole> validators(4);
    validators[2].fraud = ProposerFraud::censor;
    validators[2].signs_twice_at = 70;
    const Traced played = play_with(validators);
    EXPECT_TRUE(played.says("ValidatorJailed account=validator-2 until=0"));
    EXPECT_EQ(lost(played.outcome, "validator-2"), stake_of(ValidatorRole{}) / ledger::U256(20));
    EXPECT_FALSE(played.says("validator-2: ends its jail"));
}

/// Contracts 20.5: a proposer leaves out what votes it may, in its own blocks.
TEST(Validators, AThirdOfTheProposersJailsNobody) {
    std::vector<ValidatorRole> validators(7);
    validators[3].fraud = validators[4].fraud = ProposerFraud::delay;
    const Traced played = play_with(validators);
    EXPECT_FALSE(played.says("ValidatorJailed"));
}

/// The copies reach the chain before the originals, and cost their sender only.
TEST(Validators, AFrontRunnerPaysForItsCopies) {
    std::vector<ValidatorRole> validators(4);
    validators[0].fraud = ProposerFraud::front_run;
    const Traced played = play_with(validators);
    EXPECT_TRUE(played.says("VerifierRegistered verifier=front-runner"));
    EXPECT_TRUE(played.says("Slashed party=front-runner"));
    const auto& thief = played.outcome.balances.at("front-runner");
    EXPECT_LT(thief.coins + thief.bonded + thief.fees, initial_coins());
    for (const char* name : {"solver0", "solver1", "verifier0", "verifier1", "verifier2"}) {
        const auto& balance = played.outcome.balances.at(name);
        EXPECT_GE(balance.coins + balance.bonded + balance.fees, initial_coins()) << name;
    }
}

}  // namespace
}  // namespace retrace::sim
