// SPDX-License-Identifier: MIT
// Verifiers that cheat, for demo, simulation and tests; `node` refuses them outside developer chains.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "verifier/agent/agent.hpp"

namespace retrace::verifier {

enum class VerifierFraud : std::uint8_t {
    false_accuser = 1,  ///< Finds a wrong root in every segment, and plays the dispute from it.
    copier = 2,         ///< Does not compute: commits what another seat has committed.
    never_reveals = 3,  ///< Computes and commits, and does not reveal.
};
std::string_view slug(VerifierFraud fraud) noexcept;
std::optional<VerifierFraud> parse_verifier_fraud(std::string_view text) noexcept;

/// Runners of a false accuser: one ulp in the last step of every segment. Its agent is an honest one on a
/// workshop with these runners.
solver::RunnerFactory accusing_runners();

/// An honest agent whose moves pass through the fraud. `inner` is owned.
std::unique_ptr<Verifier> make_fraud(VerifierFraud fraud, std::unique_ptr<Verifier> inner);

}  // namespace retrace::verifier
