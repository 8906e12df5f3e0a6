// SPDX-License-Identifier: MIT
// The benchmark of capability challenges: the ledger accepts exactly the results that a solver computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "merkle/hash/sha256.hpp"
#include "solver/attacks/inflated_benchmark.hpp"
#include "solver/capability/bench.hpp"

namespace retrace::solver {
namespace {

constexpr std::uint64_t kChallenge = 3, kRounds = 9;

Hash32 beacon(std::string_view text) { return merkle::sha256(view(text)); }

class Capability : public ::testing::Test {
protected:
    Capability() {
        claim = bench.run(kChallenge, seed, kRounds, never);
        draws = capability_draws(beacon("draws"), kChallenge, claim.rounds, kCapabilityDrawsMax);
        draws[0].round = 0;            // The round whose input needs no opening
        draws[1].round = kRounds - 1;  // and the last one.
        proof = decode_capability_proof(bench.prove(kChallenge, seed, claim.rounds, draws)).value();
    }
    /// Returns the reason for the refusal; empty if accepted.
    std::string refusal() const {
        const auto done = verify_capability(proof, seed, claim.rounds, claim.root, draws);
        return done ? std::string() : done.error().message;
    }

    kernels::ThreadPool pool{1};
    HonestBench bench{pool};
    std::atomic<bool> never = false;
    std::uint64_t seed = capability_seed(beacon("seed"), kChallenge);
    CapabilityClaim claim;
    std::vector<CapabilityDraw> draws;
    CapabilityProof proof;
};

TEST_F(Capability, WhatWasComputedIsProved) {
    EXPECT_EQ(claim.rounds, kRounds);
    EXPECT_EQ(refusal(), "");
}

TEST_F(Capability, TheEvidenceOfAllDrawsFitsOneTransaction) {
    EXPECT_LE(encode(proof).size(), kCapabilityProofBytesMax);
    EXPECT_EQ(encode(decode_capability_proof(encode(proof)).value()), encode(proof));
    CapabilityProof longest;
    for (std::size_t i = 0; i < kCapabilityDrawsMax; ++i) {
        const OpenedRows rows{Bytes(4096), {std::vector<Hash32>(6)}};
        longest.items.push_back({rows, rows, {std::vector<Hash32>(48)}});
    }
    EXPECT_LE(encode(longest).size(), kCapabilityProofBytesMax) << "the longest canonical proof is not refused";
}

TEST_F(Capability, EveryElementOfARoundFollowsByTheRefereesRule) {
    const CapabilityMachine machine(seed, pool);
    std::vector<float> state = machine.first(), next;
    for (std::uint64_t round = 0; round < 3; ++round) {
        machine.step(round, state, next);
        for (std::uint32_t row = 0; row < kCapabilityExtent; row += 51) {
            for (std::uint32_t column = 0; column < kCapabilityExtent; column += 17) {
                CapabilityRow input;
                std::copy_n(state.begin() + column * kCapabilityExtent, kCapabilityExtent, input.begin());
                EXPECT_EQ(machine.rules().element(round, row, input),
                          kernels::to_bits(next[row * kCapabilityExtent + column]));
            }
        }
        std::swap(state, next);
    }
}

TEST_F(Capability, StatesStayFiniteAndDoNotSettle) {
    const CapabilityMachine machine(seed, pool);
    std::vector<float> state = machine.first(), next;
    for (std::uint64_t round = 0; round < 200; ++round) {
        machine.step(round, state, next);
        std::swap(state, next);
    }
    std::size_t same = 0;
    for (std::size_t i = 0; i < state.size(); ++i) {
        const float size = std::fabs(state[i]);
        ASSERT_TRUE(size >= 1.0f && size < 2.0f);
        same += state[i] == next[i] ? 1 : 0;
    }
    EXPECT_LT(same, 16u) << "a run that settles could be continued without work";
}

TEST_F(Capability, ANewProcessProvesAnEarlierClaim) {
    HonestBench restarted(pool);
    EXPECT_EQ(restarted.prove(kChallenge, seed, claim.rounds, draws), encode(proof));
}

TEST_F(Capability, ALongRunKeepsFewStatesAndStillProves) {
    const CapabilityClaim longer = bench.run(kChallenge, seed, 140, never);
    const auto drawn = capability_draws(beacon("draws"), kChallenge, longer.rounds, 4);
    const auto opened = decode_capability_proof(bench.prove(kChallenge, seed, longer.rounds, drawn)).value();
    EXPECT_TRUE(verify_capability(opened, seed, longer.rounds, longer.root, drawn));
}

TEST_F(Capability, AWrongElementIsRefused) {
    const std::size_t at = (draws[2].row % 4 * kCapabilityExtent + draws[2].column) * 4;
    proof.items[2].output.tile[at] ^= 1;
    EXPECT_EQ(refusal(), "draw 2: the states are not those of the run");
}

TEST_F(Capability, AStateThatDoesNotFollowIsRefused) {
    // A run whose third state is made up, with its own tree and honest openings of it.
    std::vector<Hash32> leaves = bench.leaves();
    const CapabilityMachine machine(seed, pool);
    std::vector<float> first = machine.first(), second, wrong;
    machine.step(0, first, second);
    machine.step(5, second, wrong);
    leaves[1] = capability_leaf(capability_state_root(wrong, pool));
    claim.root = capability_root(leaves);
    const merkle::TileTree history(leaves);
    const std::vector<std::uint64_t> shown = {0, 1};
    draws = {{1, 4, 7}};
    proof.items = {{open_rows(second, 7, pool), open_rows(wrong, 4, pool), history.prove(shown)}};
    EXPECT_EQ(refusal(), "draw 0: the element does not follow from the state before");
}

TEST_F(Capability, AnotherRoundAnotherSeedAnotherLengthAreRefused) {
    const auto right = draws;
    draws[3].round = (draws[3].round + 1) % kRounds;
    EXPECT_NE(refusal(), "");
    draws = right;
    draws.pop_back();
    EXPECT_EQ(refusal(), "7 elements were drawn, 8 are opened");
    draws = right;
    ++seed;
    EXPECT_NE(refusal(), "");
    --seed;
    ++claim.rounds;
    EXPECT_NE(refusal(), "");
}

TEST_F(Capability, TheFirstStateIsNeverOpened) {
    proof.items[0].input = proof.items[1].input;
    EXPECT_EQ(refusal(), "draw 0: the first state follows from the seed, no other");
    proof.items[0].input.reset();
    proof.items[1].input.reset();
    EXPECT_EQ(refusal(), "draw 1: the first state follows from the seed, no other");
}

TEST_F(Capability, ATileOfAnotherLengthIsRefused) {
    proof.items[1].output.tile.pop_back();
    EXPECT_EQ(refusal(), "draw 1: a tile has 4096 bytes");
}

TEST_F(Capability, AnInflatedClaimIsNotProved) {
    InflatedBenchmark bench(pool);
    const CapabilityClaim claim = bench.run(kChallenge, seed, 16, never);
    EXPECT_EQ(claim.rounds, 16u);
    const auto drawn = capability_draws(beacon("draws"), kChallenge, claim.rounds, 4);
    const auto opened = decode_capability_proof(bench.prove(kChallenge, seed, claim.rounds, drawn)).value();
    EXPECT_FALSE(verify_capability(opened, seed, claim.rounds, claim.root, drawn));
}

TEST_F(Capability, AStopEndsTheRunAfterTheRoundThatIsUnderWay) {
    const std::atomic<bool> at_once = true;
    EXPECT_EQ(bench.run(kChallenge, seed, kRounds, at_once).rounds, 1u);
}

TEST(CapabilityCodec, MalformedProofsAreRefused) {
    EXPECT_EQ(decode_capability_proof({}).error(), CodecError::truncated);
    EXPECT_EQ(decode_capability_proof(Bytes{9}).error(), CodecError::too_long);
    EXPECT_EQ(decode_capability_proof(Bytes{1, 2}).error(), CodecError::not_canonical);
    EXPECT_EQ(decode_capability_proof(Bytes{0, 0}).error(), CodecError::trailing);
    EXPECT_EQ(decode_capability_proof(Bytes(kCapabilityProofBytesMax + 1)).error(), CodecError::too_long);
    Writer tile;
    tile.u8(1).boolean(false).u32(4097);
    EXPECT_EQ(decode_capability_proof(tile.data()).error(), CodecError::too_long);
}

TEST(CapabilityDraws, SeedsAndDrawsDependOnEverything) {
    EXPECT_NE(capability_seed(beacon("a"), 1), capability_seed(beacon("a"), 2));
    EXPECT_NE(capability_seed(beacon("a"), 1), capability_seed(beacon("b"), 1));
    const auto draws = capability_draws(beacon("a"), 1, kCapabilityRoundsMax, 8);
    ASSERT_EQ(draws.size(), 8u);
    EXPECT_NE(draws[0], draws[1]);
    for (const CapabilityDraw& draw : draws) EXPECT_LT(draw.round, kCapabilityRoundsMax);
    EXPECT_EQ(capability_draws(beacon("a"), 1, 1, 8)[7].round, 0u);
}

}  // namespace
}  // namespace retrace::solver
