// SPDX-License-Identifier: MIT
// Cheating verifiers for demos, simulation and tests; `node` refuses them outside developer chains.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "verifier/agent/agent.hpp"

namespace retrace::verifier {

enum class VerifierAttack : std::uint8_t {
    false_accuser = 1,   ///< Computes a wrong root for every segment and plays the dispute from it.
    copier = 2,          ///< Computes nothing: commits a copy of another seat's commitment.
    never_reveals = 3,   ///< Computes and commits, but does not reveal.
    guesser = 4,         ///< Computes nothing: claims that the segment left the state unchanged.
    no_show = 5,         ///< Commits nothing.
    false_reporter = 6,  ///< Reports served data as unavailable, as often as it may.
    griefer = 7,         ///< Challenges every opened segment it sees (VerifierView::watch), and plays no dispute.
};
std::string_view slug(VerifierAttack attack) noexcept;
std::optional<VerifierAttack> parse_verifier_attack(std::string_view text) noexcept;

/// Runners of a false accuser: they add an error of one ulp in the last step of every segment. Its agent is an honest
/// one on a task cache with these runners.
solver::RunnerFactory accusing_runners();

/// Wraps the honest agent `inner`, whose configuration is `config`, so that its moves pass through the attack.
std::unique_ptr<Verifier> make_attacker(VerifierAttack attack, const VerifierConfig& config,
                                        std::unique_ptr<Verifier> inner);

/// Information from a solver to its accomplice: the root of state `index` of a run; nullopt when it has none.
using Whisper = std::function<std::optional<Hash32>(std::uint64_t task, std::uint32_t run, std::uint64_t index)>;
/// A verifier that colludes with a solver: it takes its verdicts from the solver and computes nothing.
std::unique_ptr<Verifier> make_colluder(Whisper whisper, const VerifierConfig& config, std::unique_ptr<Verifier> inner);

}  // namespace retrace::verifier
