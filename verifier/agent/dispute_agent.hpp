// SPDX-License-Identifier: MIT
// Plays all disputes of one party, as the challenger for a verifier and as the solver beside
// solver::SolverAgent.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "solver/agent/work.hpp"
#include "verifier/agent/desk.hpp"
#include "verifier/chain_view.hpp"

namespace retrace::verifier {

struct Answer {
    std::uint64_t dispute = 0;
    std::uint64_t turn = 0;  ///< Which position of the game was answered.
    Bytes move;              ///< Empty: none could be made.
    std::string problem;
};

class DisputeAgent {
public:
    /// `desk` outlives the agent. Moves are made by its work orders only.
    DisputeAgent(std::uint64_t resend_blocks, Desk& desk)
        : desk_(desk), resend_blocks_(resend_blocks), outbox_(resend_blocks) {}

    struct Output {
        std::vector<PlayMove> moves;
        std::optional<solver::WorkOrder<Answer>> work;
        bool waiting = false;  ///< An answer is due, and no order for one is out.
    };
    /// Gives a work order only if `may_work`, and none while one is out.
    Output on_view(std::uint64_t height, const std::vector<DisputeView>& disputes, bool may_work = true);
    void on_done(const Answer& answer);
    std::vector<std::string> take_problems() { return std::exchange(problems_, {}); }

private:
    solver::WorkOrder<Answer> answer_order(const DisputeView& view);

    Desk& desk_;
    std::uint64_t resend_blocks_;
    solver::Outbox outbox_;
    bool busy_ = false;
    std::uint64_t height_ = 0;
    std::map<std::uint64_t, std::uint64_t> retry_height_;  // Dispute → when a failed answer is tried again.
    std::map<std::uint64_t, Answer> answers_;  // By dispute: the newest.
    std::vector<std::string> problems_;
};

}  // namespace retrace::verifier
