// SPDX-License-Identifier: MIT
// Proofs of measured capability (market 9): an honest one verifies, and a damaged one, or one of another claim, never
// proves an element that the benchmark does not have.
#include <algorithm>

#include "solver/capability/bench.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/random.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace solver;

constexpr std::uint64_t kChallenge = 3, kRounds = 5, kSeed = 11;

struct World {
    kernels::ThreadPool pool{1};
    HonestBench bench{pool};
    std::atomic<bool> never{false};
    CapabilityClaim claim = bench.run(kChallenge, kSeed, kRounds, never);
    std::vector<CapabilityDraw> draws = [this] {
        auto out = capability_draws(claim.root, kChallenge, claim.rounds, kCapabilityDrawsMax);
        out[0].round = 0;  // The round whose input is not opened.
        return out;
    }();
    Bytes honest = bench.prove(kChallenge, kSeed, claim.rounds, draws);
};

/// Damages or truncates a proof of this claim: if it verifies, it is the honest proof for the questions that were
/// asked.
void damaged_proof(World& world, Choices& choices) {
    Bytes bytes = world.honest;
    damage(bytes, choices);
    const auto proof = decode_capability_proof(bytes);
    if (!proof) return;
    require(encode(*proof) == bytes, "one proof has one encoding");
    auto draws = world.draws;
    if (choices.below(4) == 0) draws[choices.below(draws.size())].row ^= 1u << choices.below(8);
    if (choices.below(4) == 0) draws.pop_back();
    const std::uint64_t rounds = choices.below(8) == 0 ? choices.below(8) : world.claim.rounds;
    const bool shown = verify_capability(*proof, kSeed, rounds, world.claim.root, draws).has_value();
    if (!shown) {
        const bool untouched = bytes == world.honest && draws == world.draws && rounds == world.claim.rounds;
        require(!untouched, "an honest proof verifies");
        return;
    }
    require(rounds == world.claim.rounds && draws.size() == proof->items.size(), "what was asked is what was shown");
    require(!verify_capability(*proof, kSeed + 1, rounds, world.claim.root, draws).has_value(),
            "a run of another seed shows nothing");
    // A tile holds four rows, so a proof may answer questions about neighbouring rows too, but its bytes stay the
    // honest ones.
    require(bytes == world.honest, "only tiles of the run verify");
}

void any_proof(World& world, Choices& choices) {
    const Bytes bytes = [&] {
        const View rest = choices.rest();
        return Bytes(rest.begin(), rest.end());
    }();
    const auto proof = decode_capability_proof(bytes);
    if (!proof) return;
    require(encode(*proof) == bytes, "one proof has one encoding");
    const bool shown = verify_capability(*proof, kSeed, world.claim.rounds, world.claim.root, world.draws).has_value();
    require(!shown || bytes == world.honest, "nothing but the honest proof verifies");
}

}  // namespace

std::vector<Bytes> seeds() {
    static World world;
    std::vector<Bytes> out{with_kind(1, world.honest), with_kind(1, Bytes{0}), with_kind(1, Bytes{1, 0})};
    for (std::uint64_t i = 0; i < 24; ++i) out.push_back(random_choices(0, i, 60));
    return out;
}

void run(View input) {
    static World world;
    Choices choices(input);
    if (choices.byte() % 2 == 0)
        damaged_proof(world, choices);
    else
        any_proof(world, choices);
}

}  // namespace retrace::fuzz
