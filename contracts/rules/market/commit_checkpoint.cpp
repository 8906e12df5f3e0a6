// SPDX-License-Identifier: MIT
// SPEC 13.8. The solver commits to a state without revealing it, and the segment that ends there waits for its draw.
#include "contracts/lifecycle/audits/segment_draw.hpp"
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/rules/market/rules.hpp"

namespace retrace::contracts {

CallStatus check(const CommitCheckpoint& call) {
    if (call.commitment.is_zero()) return CallStatus::commitment_zero;  // 13.8.1
    return CallStatus::ok;
}

CallStatus admit(const CommitCheckpoint& call, const TxContext& context, const StateView& view) {
    const CallStatus running = admit_running(view, call.task, call.run, context.sender);
    if (running != CallStatus::ok) return running;  // 13.8.2
    const auto run = must_load<market::Run>(view, keys::run(call.task, call.run));
    if (call.index != run.next_state) return CallStatus::wrong_index;  // 13.8.3
    if (call.index > must_load<TaskSpec>(view, keys::spec(call.task)).segments())
        return CallStatus::wrong_index;                                                       // 13.8.4
    if (run.next_state - run.finalised >= kUnfinalisedMax) return CallStatus::too_many_open;  // 13.8.5
    if (run.unaudited_since != 0 && context.height >= run.unaudited_since + context.params.unaudited_blocks)
        return CallStatus::too_many_open;  // 13.8.12
    // A run whose deadline has passed may still wait for its draws (13.5.1).
    if (run.deadline != 0 && context.height > moved_deadline(view, context.params, run))
        return CallStatus::too_late;  // 13.8.11
    return CallStatus::ok;
}

void apply(const CommitCheckpoint& call, const TxContext&, Effects& fx) {
    auto run = must_load<market::Run>(fx.state, keys::run(call.task, call.run));
    market::Checkpoint checkpoint;
    checkpoint.commitment = call.commitment;
    checkpoint.height = fx.height;
    store(fx.state, keys::checkpoint(call.task, call.run, call.index), checkpoint);
    run.next_state = call.index + 1;
    start_checkpoint_deadline(fx, run);
    fx.emit(CheckpointCommitted{call.task, call.run, call.index, call.commitment});
    if (call.index > run.first_state) {
        market::Segment segment;
        segment.commit_height = fx.height;
        segment.not_awaited = run.joined && !is_awaited(run, call.index);  // 12.7.9
        await_draw(fx, call.task, call.run, call.index - 1, segment);
    }
    wake_openings(fx, call.task, call.index);  // a replica may have waited for this commitment
    pass_late_replicas(fx, call.task, call.run);
}

}  // namespace retrace::contracts
