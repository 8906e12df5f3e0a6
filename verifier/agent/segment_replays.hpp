// SPDX-License-Identifier: MIT
// A verifier's own replays of whole segments, both of those that it audits and of those that it watches.
#pragma once

#include <map>
#include <set>

#include "verifier/agent/agent_context.hpp"
#include "verifier/agent/replay_inputs.hpp"
#include "verifier/chain_view.hpp"

namespace retrace::verifier {

/// Only work orders use it, except for `forget_closed`.
class SegmentReplays {
public:
    /// `context` outlives the replays.
    explicit SegmentReplays(AgentContext& context)
        : context_(context), inputs_(context.task_cache, context.config.messages) {}
    SegmentReplays(const SegmentReplays&) = delete;
    SegmentReplays& operator=(const SegmentReplays&) = delete;

    ReplayInputSource& inputs() noexcept { return inputs_; }

    /// A replay in progress.
    struct Begun {
        solver::CheckpointKey segment;
        kernels::State state;
        std::uint64_t start_step = 0;  ///< `ReplaySteps::replay_step` of the segment's start.
    };

    /// Returns the state with this root at the start of a segment: from the store, or fetched and then stored.
    Result<kernels::State, solver::Unavailable> start_state(const ReplayInputs& inputs,
                                                            const solver::CheckpointKey& segment, const Hash32& root);
    /// Returns the suspended replay of this segment, or a new one from its start. Another suspended replay of the task
    /// stays in memory until this one's state is there, and is then saved to disk. So no report, however often its
    /// state is not served, costs another replay its progress.
    Result<Begun, solver::Unavailable> begin(const ReplayInputs& inputs, const solver::CheckpointKey& segment,
                                             const Hash32& root);
    /// Runs to the segment's end. Returns false if the replay was preempted. It is then kept for later, unless a step was left half done and the
    /// state before that step is gone.
    bool run(const ReplayInputs& inputs, Begun& begun);

    /// Drops suspended replays of segments that `view` neither audits nor watches. Called while no order runs.
    void forget_closed(const VerifierView& view);
    /// Adds the stored states of suspended replays.
    void add_needed(std::set<solver::CheckpointKey>& needed) const;

private:
    /// Returns the saved state of a suspended replay, or nothing.
    std::optional<kernels::State> take_saved(const solver::CheckpointKey& segment);
    void save(const Hash32& program_root, const Begun& begun);

    AgentContext& context_;
    ReplayInputSource inputs_;
    std::map<std::uint64_t, Begun> suspended_;  // By task. One stays in memory for each task: no more is counted.
    std::map<solver::CheckpointKey, solver::CheckpointKey> saved_;  // By segment: where its state is in the store.
};

}  // namespace retrace::verifier
