// SPDX-License-Identifier: MIT
#include "verifier/agent/dispute_starts.hpp"

#include <algorithm>

namespace retrace::verifier {

Result<kernels::State> DisputeStarts::state_of(const DisputeView& view) {
    const auto inputs = replays_.inputs().segment(view.terms, view.run, view.segment, view.member);
    auto state =
        inputs ? replays_.start_state(*inputs, {view.terms.id, view.run, view.segment}, view.game.claim.start_root)
               : Result<kernels::State, solver::Unavailable>(Unexpected{inputs.error()});
    if (state) return std::move(state).value();
    if (!context_.preempted()) missing_[view.id] = state.error();
    return error(state.error().message);
}

void DisputeStarts::report_missing(const std::vector<DisputeView>& disputes, std::vector<VerifierMove>& moves) {
    if (!context_.slot.is_free()) return;  // The running order may be about to write missing_.
    for (const DisputeView& play : disputes) {
        const auto missing = missing_.find(play.id);
        if (missing == missing_.end() || !missing->second.kind || !play.may_report) continue;
        const solver::Unavailable& what = missing->second;
        const std::uint64_t index =
            what.kind == solver::ReportKind::state ? solver::start_state_of(play.member, play.segment) : what.index;
        if (context_.due("report in dispute " + std::to_string(play.id)))
            moves.emplace_back(ReportUnavailable{*what.kind, play.terms.id, play.run, index, what.tensor, what.tile});
    }
    std::erase_if(missing_, [&](const auto& item) {
        return std::none_of(disputes.begin(), disputes.end(),
                            [&](const DisputeView& play) { return play.id == item.first; });
    });
}

}  // namespace retrace::verifier
