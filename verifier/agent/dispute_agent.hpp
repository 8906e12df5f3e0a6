// SPDX-License-Identifier: MIT
// Plays all disputes of one party: as the challenger for a verifier, and as the solver alongside solver::SolverAgent.
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
    std::uint64_t turn = 0;  ///< Position of the game that was answered.
    Bytes move;              ///< Empty if no move could be made.
    std::string problem;
    bool no_case = false;    ///< No move will ever be made.
    bool preempted = false;  ///< Preempted by work with an earlier place: neither a move nor a problem yet.
};

class DisputeAgent {
public:
    /// `dispute_replays` and `slot` outlive the agent. Only its work orders compute moves. `slot`: a worker slot that
    /// is shared with another agent; null: the agent has its own.
    DisputeAgent(std::uint64_t resend_blocks, DisputeReplays& dispute_replays, solver::WorkerSlot* slot = nullptr)
        : dispute_replays_(dispute_replays),
          slot_(slot != nullptr ? *slot : own_slot_),
          resend_blocks_(resend_blocks),
          outbox_(resend_blocks) {}
    DisputeAgent(const DisputeAgent&) = delete;
    DisputeAgent& operator=(const DisputeAgent&) = delete;

    struct Output {
        std::vector<PlayMove> moves;
        std::optional<solver::WorkOrder<Answer>> work;
    };
    /// Returns a work order only while the worker is free, and only for a move whose place is not after `before`.
    Output on_view(std::uint64_t height, const std::vector<DisputeView>& disputes,
                   std::uint64_t before = solver::kVoluntary);
    void on_done(const Answer& answer);
    std::vector<std::string> take_problems() { return std::exchange(problems_, {}); }

private:
    solver::WorkOrder<Answer> answer_order(const DisputeView& view);

    DisputeReplays& dispute_replays_;
    solver::WorkerSlot own_slot_{std::chrono::seconds(10)};
    solver::WorkerSlot& slot_;
    std::uint64_t resend_blocks_;
    solver::Outbox outbox_;
    std::optional<std::uint64_t> working_;  // Dispute of the running work order.
    std::uint64_t height_ = 0;
    std::map<std::uint64_t, std::uint64_t> retry_height_;  // Dispute → height of the retry after a failed answer.
    std::map<std::uint64_t, Answer> answers_;              // Newest answer by dispute.
    std::vector<std::string> problems_;
};

}  // namespace retrace::verifier
