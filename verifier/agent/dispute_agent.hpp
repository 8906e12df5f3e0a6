// SPDX-License-Identifier: MIT
// Plays all disputes of one party, as the challenger for a verifier and as the solver beside
// solver::SolverAgent.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "solver/agent/work.hpp"
#include "solver/agent/worker_slot.hpp"
#include "verifier/agent/dispute_replays.hpp"
#include "verifier/chain_view.hpp"

namespace retrace::verifier {

struct Answer {
    std::uint64_t dispute = 0;
    std::uint64_t turn = 0;  ///< Which position of the game was answered.
    Bytes move;              ///< Empty: none could be made.
    std::string problem;
    bool no_case = false;    ///< None will be made.
    bool put_off = false;    ///< Work with an earlier place waited: no move and no problem yet.
};

class DisputeAgent {
public:
    /// `dispute_replays` and `slot` outlive the agent. Moves are made by its work orders only. `slot`: the worker that
    /// it shares with another agent; null: it has one for itself.
    DisputeAgent(std::uint64_t resend_blocks, DisputeReplays& dispute_replays, solver::WorkerSlot* slot = nullptr)
        : dispute_replays_(dispute_replays), slot_(slot != nullptr ? *slot : own_slot_), resend_blocks_(resend_blocks),
          outbox_(resend_blocks) {}
    DisputeAgent(const DisputeAgent&) = delete;
    DisputeAgent& operator=(const DisputeAgent&) = delete;

    struct Output {
        std::vector<PlayMove> moves;
        std::optional<solver::WorkOrder<Answer>> work;
    };
    /// Gives a work order only while the worker is free, and only for a move that does not come after `before`.
    Output on_view(std::uint64_t height, const std::vector<DisputeView>& disputes,
                   std::uint64_t before = solver::kUnasked);
    void on_done(const Answer& answer);
    std::vector<std::string> take_problems() { return std::exchange(problems_, {}); }

private:
    solver::WorkOrder<Answer> answer_order(const DisputeView& view);

    DisputeReplays& dispute_replays_;
    solver::WorkerSlot own_slot_{std::chrono::seconds(10)};
    solver::WorkerSlot& slot_;
    std::uint64_t resend_blocks_;
    solver::Outbox outbox_;
    std::optional<std::uint64_t> working_;  // Dispute of the order that is out.
    std::uint64_t height_ = 0;
    std::map<std::uint64_t, std::uint64_t> retry_height_;  // Dispute → when a failed answer is tried again.
    std::map<std::uint64_t, Answer> answers_;  // By dispute: the newest.
    std::vector<std::string> problems_;
};

}  // namespace retrace::verifier
