// SPDX-License-Identifier: MIT
#include "solver/attacks/inflated_benchmark.hpp"

#include <algorithm>

namespace retrace::solver {
namespace {

constexpr std::uint64_t kTimes = 8;

}  // namespace

CapabilityClaim InflatedBenchmark::run(std::uint64_t challenge, std::uint64_t seed, std::uint64_t rounds_max,
                                       const std::atomic<bool>& stop) {
    const CapabilityClaim honest = honest_.run(challenge, seed, std::max<std::uint64_t>(1, rounds_max / kTimes), stop);
    std::vector<Hash32> leaves = honest_.leaves();
    while (leaves.size() < kTimes * honest.rounds) leaves.push_back(capability_leaf(leaves.back()));
    return {leaves.size(), capability_root(leaves)};
}

Bytes InflatedBenchmark::prove(std::uint64_t challenge, std::uint64_t seed, std::uint64_t rounds,
                               const std::vector<CapabilityDraw>& draws) {
    const std::uint64_t done = std::max<std::uint64_t>(1, rounds / kTimes);
    std::vector<CapabilityDraw> near = draws;
    for (CapabilityDraw& draw : near) draw.round %= done;
    return honest_.prove(challenge, seed, done, near);
}

}  // namespace retrace::solver
