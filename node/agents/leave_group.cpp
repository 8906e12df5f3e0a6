// SPDX-License-Identifier: MIT
#include "node/agents/leave_group.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "contracts/records/group_views.hpp"
#include "contracts/records/views.hpp"
#include "node/agents/remote_state.hpp"

namespace retrace::node {
namespace {

namespace views = contracts::views;
using market::GroupPhase;

constexpr std::chrono::milliseconds kPoll{100};

}  // namespace

Result<Leaving> leaving_of(const ledger::StateView& view, std::uint64_t task, const ledger::Address& solver) {
    const std::string name = "task " + std::to_string(task);
    const auto group = views::group(view, task);
    if (!group) return error(name + " is no training in rounds; a solver of another task ends when its run does");
    std::optional<market::Run> run;
    for (const views::RunId& id : views::open_runs(view, solver))
        if (id.task == task) run = views::run(view, task, id.run);
    const auto member = run ? views::member(view, task, run->index) : std::nullopt;
    if (!run || !member)
        return error("this account has no seat in " + name + "; give the key that the solver runs with");
    if (run->next_state == 0)
        return error("run " + std::to_string(run->index) + " of " + name +
                     " has no first state yet; leave once it is committed");
    if (group->phase == GroupPhase::starting)
        return error("the rounds of " + name + " have not begun; leave once the first one is open");
    if (group->phase == GroupPhase::over)
        return error("the rounds of " + name + " are over; let the solver run until the task is settled");
    Leaving out;
    out.run = run->index;
    out.round = group->round;
    out.deadline = group->deadline;
    out.unfinalised = run->next_state - 1 - run->finalised;
    const bool sent = std::ranges::find(group->committed, run->index) != group->committed.end();
    out.point = member->leaving                                 ? LeavePoint::leaves
                : group->phase == GroupPhase::training && !sent ? LeavePoint::trains
                                                                : LeavePoint::now;
    return out;
}

Result<Leaving> leave_group(Submitter& submitter, ChainReader& chain, std::uint64_t task, const ledger::Address& solver,
                            bool at_once, const std::function<void(const Leaving&)>& on_wait) {
    std::optional<std::uint32_t> told;
    for (;; std::this_thread::sleep_for(kPoll)) {
        RETRACE_TRY(state, chain.newest());
        Result<Leaving> now = error("the state was not read");
        const auto read = [&] { now = leaving_of(state, task, solver); };
        state.read_ahead(read);
        state.read(read);
        if (state.failure()) return error(state.failure()->message);
        if (!now || now->point == LeavePoint::leaves) return now;
        if (now->point == LeavePoint::trains && !at_once) {
            if (told != now->round) on_wait(*now);
            told = now->round;
            continue;
        }
        RETRACE_CHECK(submitter.execute("leave task " + std::to_string(task), contracts::LeaveTask{task, now->run}));
        return now;
    }
}

}  // namespace retrace::node
