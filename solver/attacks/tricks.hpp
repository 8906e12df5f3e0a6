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

enum class Trick : std::uint8_t {
    commit_early = 1,  ///< Commits to made-up states at once and never trains.
    withhold = 2,      ///< Serves nothing to anybody; answers only on the ledger.
    wrong_tiles = 3,   ///< Serves tensors with one bit flipped.
    flood = 4,         ///< Works honestly and constantly sends calls that are refused.
    hide = 5,          ///< Serves nothing and answers no report.
    answer_late = 6,   ///< Serves nothing and answers each report just before its deadline.
};
std::string_view slug(Trick trick) noexcept;
std::optional<Trick> parse_trick(std::string_view text) noexcept;

/// Replaces the moves of an honest agent by those of a solver with this trick. Salts are derived from `secret`.
class TrickyMoves {
public:
    TrickyMoves(Trick trick, const Hash32& secret) : trick_(trick), secret_(secret) {}
    void filter(const SolverView& view, std::vector<SolverMove>& moves);

private:
    void commit_early(const RunView& run, std::vector<SolverMove>& moves) const;
    Opening made_up(const RunView& run, std::uint64_t index) const;
    void answer_late(const SolverView& view, std::vector<SolverMove>& moves);

    Trick trick_;
    Hash32 secret_;
    std::map<std::uint64_t, AnswerReport> held_;  ///< By report.
    std::uint64_t flooded_ = 0;
};

/// The artifacts that others get from a solver with this trick; null if it serves `honest` unchanged. `honest` must
/// outlive the result.
std::unique_ptr<ArtifactSource> tricky_provider(Trick trick, ArtifactSource& honest);

}  // namespace retrace::solver
