// SPDX-License-Identifier: MIT
// What the work of a solver leaves of its machine's time, now and when reserved tasks begin.
#include <algorithm>

#include "contracts/records/views.hpp"
#include "node/agents/bidding.hpp"

namespace retrace::node {

namespace views = contracts::views;

std::optional<Profit> Bidding::profit_of(const ledger::StateView& state, const market::Params& params,
                                         const ledger::U256& base_fee, Immutable& immutable,
                                         const solver::RunView& run) const {
    const auto spec = immutable.spec(state, run.terms.id);
    const std::uint64_t all = spec ? spec->segments() : 0;
    // A run computes until its last state is committed.
    if (run.next_state > all || run.given_back) return std::nullopt;
    return expected_profit(terms(state, params, base_fee, run.terms.id, *spec, all - std::min(all, run.first_state)),
                           machine_);
}

Room Bidding::room(const ledger::StateView& state, const market::Params& params, const ledger::U256& base_fee,
                   Immutable& immutable, const solver::SolverView& view, bool spot) const {
    Room out;
    out.most = kNewBidsMax;
    const ledger::U256 stake = options_.assumed_stake.value_or(views::free_stake(state, params, self_));
    ledger::U256 in_flight;
    for (const auto& [task, bid] : in_flight_) in_flight = in_flight + bid.stake;
    out.stake = coins_of(stake) - coins_of(in_flight);
    for (const auto& [task, bid] : loads_) out.load -= bid.load;
    for (const solver::RunView& run : view.runs) {
        if (run.spot && !spot) continue;
        if (const auto profit = profit_of(state, params, base_fee, immutable, run)) out.load -= profit->load;
    }
    out.reserved = reserved_times(state, params, base_fee, immutable, view, spot);
    return out;
}

std::uint64_t Bidding::end_of_run(const ledger::StateView& state, const market::Params& params,
                                  const ledger::U256& base_fee, const market::TaskSpec& spec,
                                  const solver::RunView& run, std::uint64_t height) const {
    const std::uint64_t after_next = spec.segments() - run.next_state;  // profit_of: it is at most the last.
    const WorkTerms work = terms(state, params, base_fee, run.terms.id, spec, after_next);
    const std::uint64_t paced = end_of(work, machine_, run.may_accept ? std::max(height, run.deadline) : height);
    const auto record = work.fits_itself ? std::nullopt : views::run(state, run.terms.id, run.run);
    return record ? std::min(paced, std::max({height + 1, run.deadline, record->finish_height})) : paced;
}

std::vector<ReservedTime> Bidding::promised_times(const market::Params& params, const ledger::U256& base_fee,
                                                  const std::vector<ReservedTask>& tasks) const {
    std::vector<ReservedTime> out;
    for (const ReservedTask& task : tasks) {
        const WorkTerms work = terms(params, base_fee, task.spec, task.spec.segments());
        out.push_back({task.reservation.id, task.reservation.from, task.reservation.until,
                       expected_profit(work, machine_).load, 1});
    }
    for (std::size_t i = 0; i < out.size(); ++i) {
        const market::TaskSpec& spec = tasks[i].spec;
        const std::uint64_t ends =
            end_of(terms(params, base_fee, spec, spec.segments()), machine_, out[i].until + params.accept_blocks);
        for (ReservedTime& time : out)
            if (time.from >= out[i].from && time.from < ends) time.left -= out[i].load;
    }
    return out;
}

std::vector<Bidding::RunLoad> Bidding::run_loads(const ledger::StateView& state, const market::Params& params,
                                                 const ledger::U256& base_fee, Immutable& immutable,
                                                 const solver::SolverView& view) const {
    std::vector<RunLoad> out;
    for (const solver::RunView& run : view.runs) {
        const auto profit = profit_of(state, params, base_fee, immutable, run);
        if (!profit) continue;
        const auto spec = immutable.spec(state, run.terms.id);
        const std::uint64_t checkpoint = std::max(params.checkpoint_blocks, spec->checkpoint_blocks);
        // The first state cannot be the last one (contracts 13.12.3), and is committed after the data are accepted.
        std::uint64_t later = view.height + (run.next_state == run.first_state ? 2 : 1) * checkpoint;
        if (run.may_accept) later += params.accept_blocks;
        out.push_back({{run.terms.id, run.run},
                       *profit,
                       end_of_run(state, params, base_fee, *spec, run, view.height),
                       later,
                       run.spot});
    }
    return out;
}

std::vector<ReservedTime> Bidding::reserved_times(const ledger::StateView& state, const market::Params& params,
                                                  const ledger::U256& base_fee, Immutable& immutable,
                                                  const solver::SolverView& view, bool spot) const {
    std::vector<ReservedTime> out = promised_times(params, base_fee, reserved_tasks_);
    for (const auto& [task, bid] : loads_) take_time(out, bid.load, bid.ends);
    for (const RunLoad& run : run_loads(state, params, base_fee, immutable, view))
        if (spot || !run.spot) take_time(out, run.profit.load, run.ends);
    return out;
}

std::optional<Bidding::Unkept> Bidding::unkept(const ledger::StateView& state, const market::Params& params,
                                               const ledger::U256& base_fee, Immutable& immutable,
                                               const solver::SolverView& view, const ReservedTask& wanted) const {
    const WorkTerms work = terms(params, base_fee, wanted.spec, wanted.spec.segments());
    const double load = expected_profit(work, machine_).load;
    Machine processors = machine_;
    processors.on_device = false;
    const double measured = expected_profit(work, processors).load;
    if (measured > 1 + kRounding && machine_.on_device)
        return Unkept{"its deadlines need " + percent(measured) +
                          " of the time of this machine's processors, and a device's speed is not measured",
                      "try the task on the device (`retrace task run FILE --local`), and if it is fast enough there, "
                      "accept with --skip-checks"};
    if (measured > 1 + kRounding)
        return Unkept{"its deadlines need " + percent(load) + " of this machine's time at the measured speed",
                      "ask its requester for longer `checkpoint_blocks` and `finish_blocks` (task.toml)"};
    std::vector<ReservedTask> tasks = reserved_tasks_;
    std::vector<ReservedTime> without = promised_times(params, base_fee, tasks);
    tasks.push_back(wanted);
    std::vector<ReservedTime> with = promised_times(params, base_fee, tasks);
    for (const RunLoad& run : run_loads(state, params, base_fee, immutable, view)) {
        if (run.spot) continue;
        take_time(without, run.profit.load, run.ends);
        take_time(with, run.profit.load, run.ends);
    }
    const std::string remedy = "ask its requester for other blocks; `retrace solver explain` shows what is kept";
    if (with.back().left < -kRounding)
        return Unkept{"its deadlines need " + percent(load) + " of this machine's time from block " +
                          std::to_string(with.back().from) + " on, and what is promised or may run then leaves " +
                          percent(std::max(with.back().left + load, 0.0)),
                      remedy};
    for (std::size_t i = 0; i < without.size(); ++i)
        if (with[i].left < -kRounding && with[i].left < without[i].left)
            return Unkept{"it may run when reservation " + std::to_string(with[i].reservation) +
                              " begins, from block " + std::to_string(with[i].from) + " on, which needs " +
                              percent(with[i].load) + " of this machine's time, and would leave " +
                              percent(std::max(with[i].left + with[i].load, 0.0)),
                          remedy};
    return std::nullopt;
}

std::set<solver::RunKey> Bidding::to_give_back(const ledger::StateView& state, const market::Params& params,
                                               const ledger::U256& base_fee, Immutable& immutable,
                                               const solver::SolverView& view) const {
    std::vector<RunLoad> runs = run_loads(state, params, base_fee, immutable, view);
    // Work that is won, not what may be: anybody could post a task that it bids for and does not win.
    double now = room(state, params, base_fee, immutable, view, true).load;
    for (const auto& [task, bid] : loads_) now += bid.load;
    std::vector<ReservedTime> promised = promised_times(params, base_fee, reserved_tasks_);
    for (const RunLoad& run : runs) take_time(promised, run.profit.load, run.ends);
    std::ranges::stable_sort(promised, {}, &ReservedTime::from);
    std::erase_if(runs, [](const RunLoad& run) { return !run.spot; });
    std::ranges::stable_sort(runs, {}, [](const RunLoad& run) { return run.profit.per_hour; });
    std::set<solver::RunKey> out;
    for (const RunLoad& run : runs) {
        if (now >= -kRounding) break;
        now += run.profit.load;
        out.insert(run.key);
    }
    std::set<solver::RunKey> gone = out;  // By the time of the reservation, now or at a later checkpoint.
    for (const ReservedTime& time : promised) {
        double left = time.left;
        for (const RunLoad& run : runs)
            if (gone.contains(run.key) && run.ends > time.from) left += run.profit.load;
        for (const RunLoad& run : runs) {
            if (left >= -kRounding) break;
            if (run.ends <= time.from || !gone.insert(run.key).second) continue;
            left += run.profit.load;
            if (time.from <= run.later) out.insert(run.key);
        }
    }
    return out;
}

}  // namespace retrace::node
