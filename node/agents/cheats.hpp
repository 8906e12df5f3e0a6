// SPDX-License-Identifier: MIT
// Frauds by name, for `--cheat` of solvers and verifiers on developer chains. What each does stands in
// solver/adversary and verifier/adversary; here they are put together and joined to a real process.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/artifacts/server.hpp"
#include "solver/attacks/frauds.hpp"
#include "solver/attacks/tricks.hpp"
#include "verifier/adversary/frauds.hpp"
#include "verifier/adversary/game_lies.hpp"

namespace retrace::node {

struct CheatName {
    std::string_view name, does;  ///< As it is typed, and half a sentence for --help.
};
const std::vector<CheatName>& solver_cheats();
const std::vector<CheatName>& verifier_cheats();
/// A line for each: name, two spaces, what it does.
std::string list_cheats(const std::vector<CheatName>& cheats);

/// What a solver does wrong: in what it computes, in what it sends or serves, in the dispute about it.
struct SolverCheat {
    std::optional<solver::Fraud> fraud;
    std::optional<std::uint64_t> segment;  ///< Of each task, where the fraud is; the last if none is named.
    std::optional<solver::Trick> trick;
    std::optional<verifier::GameLie> lie;  ///< About a fraud of one ulp.
};
/// Errors list the names there are.
Result<SolverCheat> parse_solver_cheat(std::string_view name);
Result<verifier::VerifierFraud> parse_verifier_cheat(std::string_view name);

/// What a solver with this trick does to the answers of its artifact server; null: nothing.
ArtifactServer::Tamper tamper_of(solver::Trick trick);

}  // namespace retrace::node
