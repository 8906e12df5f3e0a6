// SPDX-License-Identifier: MIT
// SPEC 21.10. A solver takes a free seat of a group that trains, and a member gives its seat up.
#include "contracts/lifecycle/groups/members.hpp"
#include "contracts/lifecycle/market/own_run.hpp"
#include "contracts/lifecycle/market/runs.hpp"
#include "contracts/lifecycle/staking/backlog.hpp"
#include "contracts/lifecycle/staking/stakes.hpp"
#include "contracts/records/reservations.hpp"
#include "contracts/records/rollback_views.hpp"
#include "contracts/rules/groups/rules.hpp"

namespace retrace::contracts {
namespace {

using market::GroupPhase;

/// What the member begins with: a base, and the shared tensors there; none of them: `init`.
struct Anchor {
    std::uint32_t base = 0;
    std::vector<Hash32> shared;
};

/// 21.14.8: whether no rollback has undone the segment, or may.
bool is_firm(const StateView& view, const JoinTask& call, const market::GroupSpec& terms,
             const market::MemberSegment& segment) {
    if (views::is_void(view, call.task, call.anchor, call.index - 1)) return false;
    const market::Rollbacks known = views::rollbacks(view, call.task);
    if (known.noted.size() >= terms.rollbacks) return true;  // From now on records stand.
    return segment.base <= views::final_rounds(view, call.task, known);
}

/// Returns what the end of the named segment is, or the beginning of all members before the first round. nullopt: it is
/// not finalised or not open, or its rounds are not kept any more.
std::optional<Anchor> anchor_of(const StateView& view, const JoinTask& call, const market::GroupSpec& terms,
                                const market::Group& group) {
    if (group.phase == GroupPhase::starting)
        return call.anchor == 0 && call.index == 0 ? std::optional<Anchor>(Anchor{}) : std::nullopt;
    const auto run = views::run(view, call.task, call.anchor);
    if (!run || call.index == 0 || call.index > run->finalised) return std::nullopt;
    const auto segment = views::member_segment(view, call.task, call.anchor, call.index - 1);
    if (!segment || segment->shared.empty() || group.round - segment->base > terms.keep_rounds) return std::nullopt;
    if (terms.rollbacks != 0 && !is_firm(view, call, terms, *segment)) return std::nullopt;
    // 21.13.32: what trains ends in the shared tensors of its start, which nobody has compared with anything yet.
    if (terms.private_sets != 0 && segment->steps != 0) return std::nullopt;
    return Anchor{segment->base, segment->shared};
}

/// 21.10.5 to 21.10.11: the sender may take part.
CallStatus admit_solver(const JoinTask& call, const TxContext& context, const StateView& view,
                        const market::Task& task) {
    if (task.requester == context.sender) return CallStatus::own_task;  // 21.10.5
    const auto& out = task.excluded;
    if (std::find(out.begin(), out.end(), context.sender) != out.end()) return CallStatus::excluded;  // 21.10.6
    if (!views::may_take_part(view, call.task, context.sender)) return CallStatus::not_admitted;      // 21.13.2
    const auto solver = views::solver(view, context.sender);
    if (!solver) return CallStatus::not_registered;  // 21.10.7
    const auto spec = must_load<TaskSpec>(view, keys::spec(call.task));
    if (spec.hardware_class != 0 && spec.hardware_class != solver->hardware_class)
        return CallStatus::wrong_hardware;                                                                    // 21.10.8
    if (context.value != market::join_fee(context.params, spec, call.index)) return CallStatus::wrong_value;  // 21.10.9
    if (views::open_work(view, context.sender) >= market::kOpenItemsMax) return CallStatus::too_many_open;  // 21.10.10
    if (run_of_solver(view, call.task, context.sender)) return CallStatus::already_running;                 // 21.10.11
    return CallStatus::ok;
}

}  // namespace

CallStatus check(const JoinTask&) { return CallStatus::ok; }

CallStatus admit(const JoinTask& call, const TxContext& context, const StateView& view) {
    const auto task = views::task(view, call.task);
    if (!task) return CallStatus::unknown_task;  // 21.10.1
    const auto group = views::group(view, call.task);
    if (!group) return CallStatus::not_group;                                            // 21.10.2
    if (task->state != market::TaskState::running) return CallStatus::wrong_task_state;  // 21.10.3
    // A group that is to end for want of members is not held by one joiner after another.
    const bool too_late = group->phase == GroupPhase::starting && context.height > group->deadline;
    if (group->phase == GroupPhase::over || too_late) return CallStatus::wrong_group_phase;  // 21.10.4
    const CallStatus status = admit_solver(call, context, view, *task);
    if (status != CallStatus::ok) return status;
    const auto spec = must_load<TaskSpec>(view, keys::spec(call.task));
    if (task->active.size() >= spec.replicas) return CallStatus::seats_taken;  // 21.10.12
    if (task->runs >= market::kGroupRunsMax) return CallStatus::runs_used_up;  // 21.10.13
    const auto terms = must_load<market::GroupSpec>(view, keys::group_spec(call.task));
    if (!anchor_of(view, call, terms, *group)) return CallStatus::wrong_anchor;  // 21.10.14
    const auto floor = market::stake_floor(context.params, spec, terms);
    if (!floor || views::free_stake(view, context.params, context.sender) < *floor)
        return CallStatus::stake_too_low;  // 21.10.15
    return CallStatus::ok;
}

void apply(const JoinTask& call, const TxContext& context, Effects& fx) {
    hand_over(fx, Contract::groups, Contract::market, context.value);
    auto task = must_load<market::Task>(fx.state, keys::task(call.task));
    const auto spec = must_load<TaskSpec>(fx.state, keys::spec(call.task));
    const auto terms = must_load<market::GroupSpec>(fx.state, keys::group_spec(call.task));
    const auto group = must_load<market::Group>(fx.state, keys::group(call.task));
    const auto anchor = anchor_of(fx.state, call, terms, group).value();
    task.audit_budget += context.value;
    market::Run run;
    run.task = task.id;
    run.index = task.runs++;
    run.solver = context.sender;
    run.state = market::RunState::running;
    run.price = group.price;
    run.assigned_height = fx.height;
    // 21.4: the other members wait for its first state until then only.
    run.finish_height = group.phase == GroupPhase::starting ? group.deadline : fx.height + spec.finish_blocks;
    run.locked = market::stake_floor(fx.params, spec, terms).value();
    run.work_counted = backlog(fx.state, run.solver).total;
    lock(fx, run.solver, run.locked);
    task.active.push_back(run.index);
    store(fx.state, keys::task(task.id), task);
    add_to_list(fx.state, keys::open_runs(run.solver), views::RunId{task.id, run.index});
    begin_member(fx, task.id, run.index, anchor.base, anchor.shared);
    start_checkpoint_deadline(fx, run);
    fx.emit(TaskAssigned{task.id, run.solver, run.index, run.price, run.first_state});
    fx.emit(MemberJoined{task.id, run.solver, run.index, anchor.base});
}

CallStatus check(const LeaveTask&) { return CallStatus::ok; }

CallStatus admit(const LeaveTask& call, const TxContext& context, const StateView& view) {
    const CallStatus running = admit_running(view, call.task, call.run, context.sender);
    if (running != CallStatus::ok) return running;  // 21.10.16
    const auto group = views::group(view, call.task);
    if (!group) return CallStatus::not_group;  // 21.10.17
    // Before it, the deadline of the first state counts, so that a seat is not held for nothing.
    if (views::run(view, call.task, call.run)->next_state == 0) return CallStatus::not_committed;  // 21.10.18
    // Nobody leaves who has been paid for all rounds and only has to deliver, or ends a group before it begins.
    if (group->phase == GroupPhase::over || group->phase == GroupPhase::starting)
        return CallStatus::wrong_group_phase;                                            // 21.10.19
    if (views::member(view, call.task, call.run)->leaving) return CallStatus::too_late;  // 21.10.20
    return CallStatus::ok;
}

void apply(const LeaveTask& call, const TxContext&, Effects& fx) { begin_leaving(fx, call.task, call.run, false); }

}  // namespace retrace::contracts
