// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/disputes/windows.hpp"

#include "contracts/lifecycle/staking/backlog.hpp"
#include "market/work.hpp"

namespace retrace::contracts {

bool is_full(const market::Run& run) {
    return run.challenges >= kRunChallengesMax || run.open_disputes >= kRunDisputesMax;
}

std::uint64_t challenge_window(const market::Params& params, const market::TaskSpec& spec) {
    return params.challenge_blocks + market::audit_work(spec, 0);
}

std::optional<std::uint64_t> window_end(const StateView& view, const market::Params& params,
                                        const market::TaskSpec& spec, const market::Run& run,
                                        const market::Segment& segment) {
    if (segment.window_end == 0 || is_full(run)) return std::nullopt;
    // 18.6: while the solver's challenges need more than `ahead` blocks, strangers are refused for all of its runs.
    const Backlog solver = backlog(view, run.solver);
    const std::uint64_t ahead = challenges_ahead_max(params);
    if (solver.challenge_work > ahead) return std::nullopt;
    const std::uint64_t heard = solver.heard_since == 0 ? 0 : solver.heard_since + challenge_window(params, spec);
    return std::max({segment.window_end, run.heard_until, heard});
}

bool holds_windows(const StateView& view, const market::Params& params, const market::Run& run, std::uint64_t height) {
    const Backlog solver = backlog(view, run.solver);
    if (is_full(run) || solver.challenge_work > challenges_ahead_max(params)) return true;
    const auto spec = must_load<market::TaskSpec>(view, keys::spec(run.task));
    const std::uint64_t heard = solver.heard_since == 0 ? 0 : solver.heard_since + challenge_window(params, spec);
    return height < std::max({run.heard_until, heard, counter(view, keys::windows_until(run.task, run.index))});
}

void move_window(Effects& fx, std::uint64_t task, std::uint32_t run, market::Segment& segment, std::uint64_t end) {
    segment.window_end = std::max(segment.window_end, end);
    const keys::Key key = keys::windows_until(task, run);
    if (segment.window_end > counter(fx.state, key)) store(fx.state, key, Counter{segment.window_end});
}

}  // namespace retrace::contracts
