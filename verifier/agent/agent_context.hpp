// SPDX-License-Identifier: MIT
// State shared by the agents of one verifier.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "solver/agent/task_cache.hpp"
#include "solver/agent/work.hpp"
#include "solver/agent/worker_slot.hpp"
#include "solver/checkpoints/checkpoint_store.hpp"
#include "verifier/agent/verifier_config.hpp"

namespace retrace::verifier {

/// Work orders use only `config`, `task_cache`, `store` and the slot's preemption. The agents' thread uses `task_cache`
/// only while no order runs. `task_cache` and `store` outlive the context.
struct AgentContext {
    AgentContext(VerifierConfig settings, solver::TaskCache& cache, solver::CheckpointStore& checkpoints)
        : config(std::move(settings)),
          task_cache(cache),
          store(checkpoints),
          slot(config.step_timeout),
          outbox(config.resend_blocks) {}

    const VerifierConfig config;
    solver::TaskCache& task_cache;
    solver::CheckpointStore& store;
    solver::WorkerSlot slot;
    solver::Outbox outbox;
    std::uint64_t height = 0;           ///< Height of the newest view.
    std::vector<std::string> problems;  ///< For the operator.

    /// Whether to send the move with this name now.
    bool due(const std::string& move) { return outbox.due(move, height); }
    /// Height until which work without an audit deadline waits for peers.
    std::uint64_t no_deadline_fetch_by() const { return height + config.no_deadline_fetch_blocks; }
    /// Whether the running order has to stop.
    bool preempted() { return slot.preemption().requested(); }
};

/// Names a state or a segment, in the names of moves and work orders.
inline std::string key_text(std::uint64_t task, std::uint32_t run, std::uint64_t index) {
    return std::to_string(task) + " " + std::to_string(run) + " " + std::to_string(index);
}

}  // namespace retrace::verifier
