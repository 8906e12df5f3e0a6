// SPDX-License-Identifier: MIT
// SPEC 12.7. The requester of a running task adds replicas.
#include "contracts/lifecycle/market/tasks.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/records/places.hpp"
#include "contracts/rules/market/rules.hpp"
#include "market/escrow.hpp"

namespace retrace::contracts {
namespace {

/// Returns the escrow for the added replicas, which join at state `from`. Requires that the call asks for more replicas
/// than the task has (checked by admit).
market::Escrow price_of(const RaiseReplicas& call, const Params& params, const TaskSpec& spec, const market::Task& task,
                        std::uint64_t from) {
    const auto more = static_cast<std::uint8_t>(call.replicas - task.active.size());
    return market::escrow_of_more(spec, params, from, more);
}

}  // namespace

CallStatus check(const RaiseReplicas& call) {
    if (call.replicas == 0 || call.replicas > market::kReplicasMax) return CallStatus::replicas_out_of_range;  // 12.7.1
    return CallStatus::ok;
}

CallStatus admit(const RaiseReplicas& call, const TxContext& context, const StateView& view) {
    const auto task = views::task(view, call.task);
    if (!task) return CallStatus::unknown_task;                                               // 12.7.2
    if (task->requester != context.sender) return CallStatus::not_requester;                  // 12.7.3
    if (views::is_group(view, call.task)) return CallStatus::group_task;                      // 12.7.11
    if (task->state != market::TaskState::running) return CallStatus::wrong_task_state;       // 12.7.4
    if (task->wanted != 0) return CallStatus::already_bid;                                    // 12.7.5
    if (call.replicas <= task->active.size()) return CallStatus::not_more_replicas;           // 12.7.6
    if (task->round >= context.params.rounds) return CallStatus::rounds_used_up;              // 12.7.7
    if (views::is_rent_over(view, *task, context.height)) return CallStatus::rounds_used_up;  // 12.7.13
    const auto spec = must_load<TaskSpec>(view, keys::spec(call.task));
    if (spec.spot) return CallStatus::spot_task;  // 12.7.12
    const std::uint64_t from = views::newest_finalised_state(view, *task).index;
    if (from >= spec.segments()) return CallStatus::too_late;  // 12.7.10
    if (context.value < price_of(call, context.params, spec, *task, from).total())
        return CallStatus::wrong_value;  // 12.7.8
    return CallStatus::ok;
}

void apply(const RaiseReplicas& call, const TxContext& context, Effects& fx) {
    auto task = must_load<market::Task>(fx.state, keys::task(call.task));
    const auto start = views::newest_finalised_state(fx.state, task);
    const auto spec = must_load<TaskSpec>(fx.state, keys::spec(call.task));
    const market::Escrow more = price_of(call, fx.params, spec, task, start.index);
    task.escrow += more.work;
    task.audit_budget += more.audits;
    task.joining_state = start.index;  // 12.7.8: the paid start, even if the run that reached it ends
    task.joining_root = start.root;
    note_run(fx, keys::raise_from(task.id), start.run);
    open_raise(fx, task, static_cast<std::uint8_t>(call.replicas - task.active.size()));
    // Segments may have been finalised since the price was read, so the sender brings the one that it knows.
    const U256 rest = context.value - more.total();
    if (rest.is_zero()) return;
    pay(fx, Contract::market, task.requester, rest);
    fx.emit(EscrowReturned{task.id, task.requester, rest});
}

}  // namespace retrace::contracts
