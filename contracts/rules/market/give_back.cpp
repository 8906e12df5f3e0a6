// SPDX-License-Identifier: MIT
// SPEC 13.12. The solver of a spot task gives its run back at a checkpoint.
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/rules/market/rules.hpp"

namespace retrace::contracts {
namespace {

CommitCheckpoint as_checkpoint(const GiveBack& call) { return {call.task, call.run, call.index, call.commitment}; }

}  // namespace

CallStatus check(const GiveBack& call) { return check(as_checkpoint(call)); }

CallStatus admit(const GiveBack& call, const TxContext& context, const StateView& view) {
    const CallStatus status = admit(as_checkpoint(call), context, view);
    if (status != CallStatus::ok) return status;  // 13.12.1
    const auto spec = must_load<TaskSpec>(view, keys::spec(call.task));
    if (!spec.spot) return CallStatus::not_spot;  // 13.12.2
    const auto run = must_load<market::Run>(view, keys::run(call.task, call.run));
    // Without a segment of its own it would only have held the task; with the last one it has nothing to give back.
    if (call.index == run.first_state || call.index == spec.segments()) return CallStatus::wrong_index;  // 13.12.3
    return CallStatus::ok;
}

void apply(const GiveBack& call, const TxContext& context, Effects& fx) {
    store(fx.state, keys::given_back(call.task, call.run), Counter{});
    commit_state(fx, call.task, call.run, call.index, call.commitment);
    fx.emit(RunGivenBack{call.task, context.sender, call.run, call.index});
}

}  // namespace retrace::contracts
