// SPDX-License-Identifier: MIT
// What the solver's service does for the masks of its rounds, beside the moves of its agent.
#include <spdlog/spdlog.h>

#include "contracts/records/views.hpp"
#include "node/agents/remote_state.hpp"
#include "node/agents/solver_service.hpp"

namespace retrace::node {
namespace {

/// What was sent is sent again after some blocks only.
template <class Call>
Bytes call_name(const Call& call) {
    Writer out;
    out.text(Call::kName).u64(call.task).u32(call.run);
    if constexpr (requires { call.round; })
        out.u32(call.round);
    else
        out.u64(call.segment);
    if constexpr (requires { call.dealer; }) out.u32(call.dealer);
    return std::move(out).take();
}

}  // namespace

void SolverService::play_masks(const RemoteState& state, std::uint64_t height, solver::SolverView& view) {
    std::erase_if(mask_calls_, [&](const auto& item) { return height > item.second + kResendBlocks; });
    for (solver::RunView& run : view.runs)
        if (run.member && run.terms.group && run.terms.group->mask_bits != 0) play_masks_of(state, height, run);
}

void SolverService::play_masks_of(const RemoteState& state, std::uint64_t height, solver::RunView& run) {
    const solver::RunKey key{run.terms.id, run.run};
    Result<std::vector<kernels::MaskRow>> masks = std::vector<kernels::MaskRow>{};
    Result<std::vector<MaskCall>> calls = std::vector<MaskCall>{}, shown = std::vector<MaskCall>{};
    state.read([&] {
        const auto record = contracts::views::run(state, key.first, key.second);
        if (!record) return;
        masks = mask_duties_.masks(state, *record);
        calls = mask_duties_.due(state, *record);
        shown = mask_duties_.shown(state, *record);
    });
    if (state.failure()) return;
    state.read([&] {
        const auto record = contracts::views::run(state, key.first, key.second);
        if (record) mask_duties_.forget(state, *record);
    });
    std::string problem;
    if (!calls) problem = calls.error().message;
    if (!masks) problem = masks.error().message;
    if (!shown) problem = shown.error().message;
    if (problem != mask_problems_[key] && !problem.empty()) report_problems({problem});
    mask_problems_[key] = problem;
    run.member->masks = masks ? std::move(*masks) : std::vector<kernels::MaskRow>{};
    for (const auto& list : {calls, shown})
        for (const MaskCall& due : list ? *list : std::vector<MaskCall>{}) send_masks(due, height);
}

void SolverService::send_masks(const MaskCall& due, std::uint64_t height) {
    std::visit(
        [&](const auto& call) {
            if (!mask_calls_.emplace(call_name(call), height).second) return;
            std::string what{call.kName};
            spdlog::info("event=masks task={} run={} call={}", call.task, call.run, what);
            if constexpr (requires { call.round; })
                what += " of round " + std::to_string(call.round);
            else
                what += " of segment " + std::to_string(call.segment);
            const auto sent = process_->submitter().send(what + " of task " + std::to_string(call.task), call);
            if (!sent) spdlog::warn("event=not_sent reason=\"{}\"", sent.error().message);
        },
        due);
}

}  // namespace retrace::node
