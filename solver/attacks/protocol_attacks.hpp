// SPDX-License-Identifier: MIT
// Solvers that cheat in the moves they send and the artifacts they serve, not in their computation; for simulation and
// tests only.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "solver/artifacts/artifact_source.hpp"
#include "solver/chain_view.hpp"

namespace retrace::solver {

enum class ProtocolAttack : std::uint8_t {
    commit_early = 1,  ///< Commits to made-up states at once and never trains.
    withhold = 2,      ///< Serves nothing to anybody; answers only on the ledger.
    wrong_tiles = 3,   ///< Serves tensors with one bit flipped.
    flood = 4,         ///< Works honestly and constantly sends calls that are refused.
    hide = 5,          ///< Serves nothing and answers no report.
    answer_late = 6,   ///< Serves nothing and answers each report just before its deadline.
    // Of a group's member:
    wrong_message = 7,  ///< Sends the roots of another message than that in its state.
    hide_message = 8,   ///< Serves its messages to nobody.
    list_falsely = 9,   ///< States to have every message.
};
std::string_view slug(ProtocolAttack attack) noexcept;
std::optional<ProtocolAttack> parse_protocol_attack(std::string_view text) noexcept;

/// Replaces the moves of an honest agent by those of a solver with this attack. Salts are derived from `secret`.
class AttackingMoves {
public:
    AttackingMoves(ProtocolAttack attack, const Hash32& secret) : attack_(attack), secret_(secret) {}
    void filter(const SolverView& view, std::vector<SolverMove>& moves);

private:
    void commit_early(const RunView& run, std::vector<SolverMove>& moves) const;
    Opening made_up(const RunView& run, std::uint64_t index) const;
    void answer_late(const SolverView& view, std::vector<SolverMove>& moves);
    void send_wrong_message(const SolverView& view, CommitRound& move) const;
    void list_all(const SolverView& view, auto& move) const;

    ProtocolAttack attack_;
    Hash32 secret_;
    std::map<std::uint64_t, AnswerReport> held_;  ///< By report.
    std::uint64_t flooded_ = 0;
};

/// The artifacts that others get from a solver with this attack; null if it serves `honest` unchanged. `honest` must
/// outlive the result.
std::unique_ptr<ArtifactSource> attacking_provider(ProtocolAttack attack, ArtifactSource& honest);

}  // namespace retrace::solver
