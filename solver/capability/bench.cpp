// SPDX-License-Identifier: MIT
#include "solver/capability/bench.hpp"

#include "merkle/base/ensure.hpp"

namespace retrace::solver {
namespace {

constexpr std::size_t kKeptMax = 128;  // States of 256 KiB.

}  // namespace

void HonestBench::keep(std::uint64_t round, const std::vector<float>& state) {
    if (round % run_->stride != 0) return;
    if (run_->kept.size() >= kKeptMax) {
        run_->stride *= 2;
        std::erase_if(run_->kept, [&](const auto& item) { return item.first % run_->stride != 0; });
        if (round % run_->stride != 0) return;
    }
    run_->kept.emplace(round, state);
}

CapabilityClaim HonestBench::run(std::uint64_t challenge, std::uint64_t seed, std::uint64_t rounds_max,
                                 const std::atomic<bool>& stop) {
    run_.emplace(Run{challenge, CapabilityMachine(seed, pool_), {}, 1, {}});
    std::vector<float> state = run_->machine.first(), next;
    do {
        const std::uint64_t round = run_->leaves.size();
        keep(round, state);
        run_->machine.step(round, state, next);
        std::swap(state, next);
        run_->leaves.push_back(capability_leaf(capability_state_root(state, pool_)));
    } while (run_->leaves.size() < rounds_max && !stop);
    return {run_->leaves.size(), capability_root(run_->leaves)};
}

std::vector<float> HonestBench::state_at(std::uint64_t round) const {
    const auto near = std::prev(run_->kept.upper_bound(round));
    std::vector<float> state = near->second, next;
    for (std::uint64_t at = near->first; at < round; ++at) {
        run_->machine.step(at, state, next);
        std::swap(state, next);
    }
    return state;
}

Bytes HonestBench::prove(std::uint64_t challenge, std::uint64_t seed, std::uint64_t rounds,
                         const std::vector<CapabilityDraw>& draws) {
    ensure(rounds != 0 && rounds <= kCapabilityRoundsMax, "the ledger took this number of rounds");
    if (!run_ || run_->challenge != challenge || run_->leaves.size() != rounds) {
        const std::atomic<bool> never = false;
        (void)run(challenge, seed, rounds, never);
    }
    const merkle::TileTree history(run_->leaves);
    CapabilityProof proof;
    for (const CapabilityDraw& draw : draws) {
        CapabilityItem& item = proof.items.emplace_back();
        const std::vector<float> before = state_at(draw.round);
        std::vector<float> after;
        run_->machine.step(draw.round, before, after);
        std::vector<std::uint64_t> rounds_shown;
        if (draw.round != 0) {
            item.input = open_rows(before, draw.column, pool_);
            rounds_shown.push_back(draw.round - 1);
        }
        rounds_shown.push_back(draw.round);
        item.output = open_rows(after, draw.row, pool_);
        item.history = history.prove(rounds_shown);
    }
    return encode(proof);
}

}  // namespace retrace::solver
