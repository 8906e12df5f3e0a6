// SPDX-License-Identifier: MIT
// An auditor that uses the whole allowance for a replay reveals an accusing verdict in time, and has time for its
// second replay in the dispute (SPEC 8.2, threat model 4).
#include "tests/unit/verifier/agent/one_worker.hpp"

namespace retrace::test {
namespace {

/// Default parameters; a replay takes the whole allowance of a default task.
constexpr std::uint64_t kReplayBlocks = 300, kVerdictBlocks = 120, kRevealBlocks = 60, kClock = 60 + 2 * kReplayBlocks;

struct RevealInTime : OneWorker {
    std::vector<std::pair<std::uint64_t, VerifierMove>> moves;  ///< Moves with their heights.

    /// Passes one block; the agent's work then continues while further blocks come.
    void block() {
        Verifier::Output out = next();
        for (VerifierMove& move : out.moves) moves.emplace_back(view.height, std::move(move));
        if (!out.work) return;
        before_step = [this] {
            ++steps;
            for (std::uint64_t i = 0; i < kReplayBlocks / kSegment; ++i) block();
        };
        agent->on_done(out.work->run());
    }
    /// Returns the height at which it makes such a move; 0 if it makes none until `last`.
    template <class Move>
    std::uint64_t height_of(std::uint64_t last) {
        while (view.height <= last) {
            for (const auto& [height, move] : moves)
                if (std::holds_alternative<Move>(move)) return height;
            block();
        }
        return 0;
    }
};

TEST_F(RevealInTime, WhatAccusesASolverAlthoughAReplayTakesLongerThanTheTimeForThat) {
    begin(solver::attacking_runners(solver::ComputeAttack::ulp));
    sit(10, 5, 3, view.height + kReplayBlocks + kVerdictBlocks);
    ASSERT_NE(height_of<CommitVerdict>(view.audits[0].deadline), 0u);
    AuditView& seat = view.audits[0];
    for (const auto& [height, move] : moves)
        if (const auto* commit = std::get_if<CommitVerdict>(&move)) seat.commitment = commit->commitment;
    seat.end_root = root(4);
    seat.may_commit = false;
    seat.may_reveal = true;
    seat.deadline = view.height + kRevealBlocks;
    const std::uint64_t last = seat.deadline;
    const std::uint64_t revealed = height_of<RevealVerdict>(last + kReplayBlocks);
    ASSERT_NE(revealed, 0u);
    EXPECT_LE(revealed, last);
    view.audits.clear();
    view.disputes.push_back(dispute_of(1, 3, view.height + kClock));
    const std::uint64_t played = height_of<PlayMove>(view.height + kClock);
    EXPECT_NE(played, 0u);
    EXPECT_LE(steps, 2 * kSegment) << "the search for the step is the second replay";
    EXPECT_TRUE(agent->take_problems().empty());
}

}  // namespace
}  // namespace retrace::test
