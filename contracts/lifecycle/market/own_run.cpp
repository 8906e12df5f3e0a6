// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/market/own_run.hpp"

#include "contracts/lifecycle/audits/segment_draw.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "solver/commitments.hpp"

namespace retrace::contracts {

std::optional<market::Run> run_of_solver(const StateView& view, std::uint64_t task, const Address& solver) {
    for (const views::RunId& id : views::open_runs(view, solver))
        if (id.task == task) return views::run(view, task, id.run);
    return std::nullopt;
}

void end_finish_wait(market::Run& run, std::uint64_t height) {
    if (run.finish_waits_until <= height) return;
    run.finish_height -= std::min(run.finish_height, run.finish_waits_until - height);
    run.finish_waits_until = height;
}

CallStatus admit_running(const StateView& view, std::uint64_t task, std::uint32_t index, const Address& sender) {
    if (!views::task(view, task)) return CallStatus::unknown_task;  // 13.8.7
    const auto run = views::run(view, task, index);
    if (!run) return CallStatus::unknown_run;                                         // 13.8.8
    if (run->solver != sender) return CallStatus::not_solver;                         // 13.8.9
    if (run->state != market::RunState::running) return CallStatus::wrong_run_state;  // 13.8.10
    return CallStatus::ok;
}

CallStatus admit_next_state(const market::Run& run, const TxContext& context) {
    if (run.next_state - run.finalised >= kUnfinalisedMax) return CallStatus::too_many_open;  // 21.5.5
    const bool waits = run.unaudited_since != 0;
    if (waits && context.height >= run.unaudited_since + context.params.unaudited_blocks)
        return CallStatus::too_many_open;  // 21.5.6
    return CallStatus::ok;
}

CallStatus admit_opening(const StateView& view, std::uint64_t id, std::uint32_t run_index, std::uint64_t index,
                         const Hash32& salt, const Hash32& root) {
    const auto checkpoint = views::checkpoint(view, id, run_index, index);
    if (!checkpoint) return CallStatus::not_committed;          // 13.9.5
    if (checkpoint->opened) return CallStatus::already_opened;  // 13.9.6
    if (solver::checkpoint_commitment(id, run_index, index, salt, root) != checkpoint->commitment)
        return CallStatus::wrong_opening;  // 13.9.7
    const auto task = must_load<market::Task>(view, keys::task(id));
    const auto run = must_load<market::Run>(view, keys::run(id, run_index));
    if (!may_open(view, task, run, index)) return CallStatus::would_leak;  // 13.9.8
    return CallStatus::ok;
}

void commit_state(Effects& fx, std::uint64_t task, std::uint32_t run_index, std::uint64_t index,
                  const Hash32& commitment) {
    auto run = must_load<market::Run>(fx.state, keys::run(task, run_index));
    market::Checkpoint checkpoint;
    checkpoint.commitment = commitment;
    checkpoint.height = fx.height;
    store(fx.state, keys::checkpoint(task, run_index, index), checkpoint);
    run.next_state = index + 1;
    start_checkpoint_deadline(fx, run);
    fx.emit(CheckpointCommitted{task, run_index, index, commitment});
    if (index > run.first_state) {
        market::Segment segment;
        segment.commit_height = fx.height;
        segment.not_awaited = run.joined && !is_awaited(run, index);  // 12.7.9
        await_draw(fx, task, run_index, index - 1, segment);
    }
    wake_openings(fx, task, run_index, index);  // a replica may have waited for this commitment
    pass_late_replicas(fx, task, run_index);
}

}  // namespace retrace::contracts
