// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/disputes/windows.hpp"

#include "contracts/lifecycle/staking/backlog.hpp"
#include "market/work.hpp"

namespace retrace::contracts {
namespace {

/// 15.2.6: returns the end of a whole window from the height at which challenges about the solver's runs were last
/// accepted again; 0: never.
std::uint64_t kept_open_until(const market::Params& params, const market::TaskSpec& spec, const Backlog& solver) {
    const std::uint64_t since = solver.challenges_accepted_since;
    return since == 0 ? 0 : since + challenge_window(params, spec);
}

}  // namespace

bool refuses_challenges(const market::Run& run) {
    return run.challenges >= kRunChallengesMax || run.open_disputes >= kRunDisputesMax;
}

std::uint64_t challenge_window(const market::Params& params, const market::TaskSpec& spec) {
    return params.challenge_blocks + market::audit_work(spec, 0);
}

std::optional<std::uint64_t> window_end(const StateView& view, const market::Params& params,
                                        const market::TaskSpec& spec, const market::Run& run,
                                        const market::Segment& segment) {
    if (segment.window_end == 0 || refuses_challenges(run)) return std::nullopt;
    // 18.6: while the solver's challenges need more than `ahead` blocks, strangers are refused for all of its runs.
    const Backlog solver = backlog(view, run.solver);
    const std::uint64_t ahead = challenges_ahead_max(params);
    if (solver.challenge_work > ahead) return std::nullopt;
    return std::max({segment.window_end, run.heard_until, kept_open_until(params, spec, solver)});
}

bool holds_windows(const StateView& view, const market::Params& params, const market::Run& run, std::uint64_t height) {
    const Backlog solver = backlog(view, run.solver);
    if (refuses_challenges(run) || solver.challenge_work > challenges_ahead_max(params)) return true;
    const auto spec = must_load<market::TaskSpec>(view, keys::spec(run.task));
    return height < std::max({run.heard_until, kept_open_until(params, spec, solver),
                              counter(view, keys::windows_until(run.task, run.index))});
}

void extend_window(Effects& fx, std::uint64_t task, std::uint32_t run, market::Segment& segment, std::uint64_t end) {
    segment.window_end = std::max(segment.window_end, end);
    const keys::Key key = keys::windows_until(task, run);
    if (segment.window_end > counter(fx.state, key)) store(fx.state, key, Counter{segment.window_end});
}

}  // namespace retrace::contracts
