// SPDX-License-Identifier: MIT
// Verifiers that cheat, for demo, simulation and tests; `node` refuses them outside developer chains.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "verifier/agent/agent.hpp"

namespace retrace::verifier {

enum class VerifierFraud : std::uint8_t {
    false_accuser = 1,   ///< Finds a wrong root in every segment, and plays the dispute from it.
    copier = 2,          ///< Does not compute: commits what another seat has committed.
    never_reveals = 3,   ///< Computes and commits, and does not reveal.
    guesser = 4,         ///< Does not compute: bets that the segment changed nothing.
    no_show = 5,         ///< Commits nothing.
    false_reporter = 6,  ///< Reports as not served what is served, as often as it may.
    griefer = 7,         ///< Challenges all that it sees opened (VerifierView::watch), and plays no dispute.
};
std::string_view slug(VerifierFraud fraud) noexcept;
std::optional<VerifierFraud> parse_verifier_fraud(std::string_view text) noexcept;

/// Runners of a false accuser: one ulp in the last step of every segment. Its agent is an honest one on a
/// task cache with these runners.
solver::RunnerFactory accusing_runners();

/// An honest agent whose moves pass through the fraud. `config` is that agent's.
std::unique_ptr<Verifier> make_fraud(VerifierFraud fraud, const VerifierConfig& config,
                                     std::unique_ptr<Verifier> inner);

/// What a solver tells its accomplice: root of state `index` of a run; nullopt when it has none.
using Whisper =
    std::function<std::optional<Hash32>(std::uint64_t task, std::uint32_t run, std::uint64_t index)>;
/// A verifier that colludes with a solver: its verdicts are what the solver says, and it computes nothing.
std::unique_ptr<Verifier> make_colluder(Whisper whisper, const VerifierConfig& config,
                                        std::unique_ptr<Verifier> inner);

}  // namespace retrace::verifier
