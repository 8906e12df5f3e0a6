// SPDX-License-Identifier: MIT
// Events about measured capability. SPEC 5, 17.
#pragma once

#include "contracts/calls/calls.hpp"

namespace retrace::contracts {

/// The seed of the benchmark is known from about height `seedHeight` on.
struct CapabilityChallenged {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "CapabilityChallenged";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"solver", "challenge", "seedHeight"}; }
    static auto tie(auto& e) { return std::tie(e.solver, e.challenge, e.seed_height); }
    Address solver;
    std::uint64_t challenge = 0;
    std::uint64_t seed_height = 0;
};
struct CapabilityAnswered {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "CapabilityAnswered";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"solver", "challenge", "rounds", "root"}; }
    static auto tie(auto& e) { return std::tie(e.solver, e.challenge, e.rounds, e.root); }
    Address solver;
    std::uint64_t challenge = 0;
    std::uint64_t rounds = 0;
    Hash32 root;
};
/// A challenge ended: `score` is the solver's score from now on, 0 unless it was proved.
struct CapabilityMeasured {
    static constexpr Contract kContract = Contract::staking;
    static constexpr std::string_view kName = "CapabilityMeasured";
    static constexpr std::size_t kIndexed = 2;
    static Names names() { return {"solver", "challenge", "score", "state"}; }
    static auto tie(auto& e) { return std::tie(e.solver, e.challenge, e.score, e.state); }
    Address solver;
    std::uint64_t challenge = 0;
    std::uint64_t score = 0;
    std::uint8_t state = 0;  ///< market::ChallengeState
};

}  // namespace retrace::contracts
