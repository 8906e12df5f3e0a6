// SPDX-License-Identifier: MIT
// Attacks by name, for `--cheat` of solvers and verifiers on developer chains. They are implemented in solver/attacks
// and verifier/attacks; this file combines them and connects them to a real process.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/artifacts/server.hpp"
#include "solver/attacks/compute_attacks.hpp"
#include "solver/attacks/protocol_attacks.hpp"
#include "verifier/attacks/dispute_attacks.hpp"
#include "verifier/attacks/verifier_attacks.hpp"

namespace retrace::node {

struct CheatName {
    std::string_view name, does;  ///< Name on the command line, and a short description for --help.
};
const std::vector<CheatName>& solver_cheats();
const std::vector<CheatName>& verifier_cheats();
/// Returns one line for each cheat: name, at least two spaces, description.
std::string list_cheats(const std::vector<CheatName>& cheats);

/// A solver's attack: in its computation, in its calls or served artifacts, or in the dispute about it.
struct SolverCheat {
    std::optional<solver::ComputeAttack> compute_attack;
    std::optional<std::uint64_t> segment;  ///< Segment of each task with the attack; none: the last.
    std::optional<solver::ProtocolAttack> protocol_attack;
    std::optional<verifier::DisputeAttack> dispute_attack;  ///< Lie in the dispute; `compute_attack` is then `ulp`.
};
/// Errors list the known names.
Result<SolverCheat> parse_solver_cheat(std::string_view name);
Result<verifier::VerifierAttack> parse_verifier_cheat(std::string_view name);

/// Returns the change that this attack makes to the artifact server's answers; null: none.
ArtifactServer::Tamper tamper_of(solver::ProtocolAttack attack);

}  // namespace retrace::node
