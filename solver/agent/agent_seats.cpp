// SPDX-License-Identifier: MIT
// How the solver's agent takes a free seat of a group. joinTask locks stake, and a first state that is not committed to in
// time costs it; so plan, data and the shared tensors that it would begin with are fetched and checked before, and the
// first state is made once.
#include "solver/agent/agent.hpp"

namespace retrace::solver {
namespace {

/// The seat as the run that it would be.
RunView run_of(const SeatView& seat) {
    RunView out;
    out.terms = seat.terms;
    out.replay_cost_max = seat.replay_cost_max;
    out.dispute_cost_max = seat.dispute_cost_max;
    return out;
}

}  // namespace

std::vector<SeatView> SolverAgent::ready_seats() const {
    std::vector<SeatView> out;
    for (const auto& [task, record] : seats_)
        if (record.ready) out.push_back(*record.ready);
    return out;
}

void SolverAgent::take_seats(const SolverView& view, Output& out) {
    for (const SeatView& seat : view.seats) {
        SeatRecord& record = seats_[seat.terms.id];
        record.wanted = seat;
        record.seen = view.height;
        if (record.ready && record.ready->entry == seat.entry && due("join", seat.terms.id, 0, 0, view.height))
            out.moves.emplace_back(JoinGroup{seat.terms.id, seat.run, seat.index});
    }
    if (busy_) return;
    // A seat that was taken is not offered while the call is on its way, and what is here is needed then.
    const std::uint64_t kept = 10 * config_.resend_blocks;
    std::erase_if(seats_, [&](const auto& item) {
        if (view.height < item.second.seen + kept) return false;
        const auto of_task = [&](const RunKey& run) { return run.first == item.first; };
        const auto runs = store_.runs();
        const bool taken = std::any_of(runs.begin(), runs.end(), of_task) ||
                           std::any_of(view.runs.begin(), view.runs.end(),
                                       [&](const RunView& run) { return run.terms.id == item.first; });
        if (!taken && config_.messages != nullptr) config_.messages->keep_from(item.first, UINT32_MAX);
        return true;
    });
}

std::optional<SolverWork> SolverAgent::work_for_seats(const SolverView& view) {
    constexpr std::uint64_t kFetchTimes =
        30;  // Of resend_blocks: strangers who serve slowly hold up other seats so long.
    for (const SeatView& seat : view.seats) {
        const SeatRecord& record = seats_.at(seat.terms.id);
        if (record.ready && record.ready->entry == seat.entry) continue;
        if (record.retry && height_ < record.retry->next(config_.resend_blocks, 0)) continue;
        prepares_seat_ = true;
        const RunKey key{seat.terms.id, seat.run};
        return make_order<SolverResult>(
            "prepare to join task " + std::to_string(key.first), SeatReady{seat, std::nullopt},
            [this, seat, promised = promised_disk({seat.terms.id, 0})] {
                return SolverResult(prepare_seat(seat, promised));
            },
            height_ + kFetchTimes * config_.resend_blocks, key);
    }
    return std::nullopt;
}

void SolverAgent::on_seat(const SeatReady& result) {
    if (result.preempted) return;
    SeatRecord& record = seats_[result.seat.terms.id];
    if (!result.problem) {
        record.retry.reset();
        record.ready = result.seat;
        return;
    }
    if (!record.retry) record.retry.emplace();
    record.retry->fail(height_, *result.problem);
    problems_.push_back("task " + std::to_string(result.seat.terms.id) + " is not joined: " + *result.problem);
}

SeatReady SolverAgent::prepare_seat(const SeatView& seat, std::uint64_t promised) {
    SeatReady out{seat, std::nullopt};
    RunView run = run_of(seat);
    run.may_accept = true;
    MemberView member;
    member.entered = seat.entry.base;
    member.anchor = seat.entry.anchor;
    run.member = member;
    const Prepared prepared = prepare_member(run, promised);
    out.problem = prepared.problem;
    out.preempted = prepared.preempted;
    if (out.problem || out.preempted) return out;
    const auto material = task_cache_.group(seat.terms);
    Preemption& preemption = slot_.preemption();
    preemption.begin_step();
    const auto made =
        material ? Member(task_cache_, **material, stores(), run.run, member).first_state(preemption.step_stop())
                 : Result<std::optional<kernels::State>>(error(material.error().message));
    out.preempted = made ? !made->has_value() : preemption.requested();
    if (!made && !out.preempted) out.problem = made.error().message;
    return out;
}

}  // namespace retrace::solver
