// SPDX-License-Identifier: MIT
#include "node/agents/raise_pricing.hpp"

#include <algorithm>

namespace retrace::node {
namespace {

namespace views = contracts::views;

/// Estimates the newest state that another run of the task will have committed when the auction ends, at its present
/// pace.
std::uint64_t committed_by_then(const ledger::StateView& state, const market::Task& task, std::uint64_t segments) {
    std::uint64_t newest = 0;
    for (const std::uint32_t index : task.active) {
        const auto run = views::run(state, task.id, index);
        if (!run || run->next_state <= run->first_state) continue;
        const std::uint64_t at = run->next_state - 1;
        const auto last = views::checkpoint(state, task.id, index, at);
        if (!last || last->height <= run->assigned_height || task.reveal_end <= last->height) {
            newest = std::max(newest, at);
            continue;
        }
        const ledger::U256 more = ledger::mul_div(ledger::U256(at - run->first_state), task.reveal_end - last->height,
                                                  last->height - run->assigned_height);
        const ledger::U256 most = ledger::U256(segments);
        newest = std::max(newest, at + ledger::min(more, most).low64() + 1);
    }
    return std::min(newest, segments);
}

}  // namespace

std::optional<ledger::U256> price_of_raise(const ledger::StateView& state, const market::Task& task,
                                           std::uint64_t segments, const ledger::U256& price) {
    const std::uint64_t start = views::joining_state(state, task).index;
    const std::uint64_t below = std::max(start, committed_by_then(state, task, segments));
    if (below >= segments) return std::nullopt;
    const std::uint64_t paid = segments - below;
    return ledger::mul_div(price, segments - start, paid) + ledger::U256(below > start ? 1 : 0);
}

bool pays_for_all(const market::Run& run, std::uint64_t segments, const ledger::U256& price) {
    if (!run.joined) return true;
    const std::uint64_t paid = segments - std::min(segments, std::max(run.first_state, run.not_awaited_below));
    return run.price * ledger::U256(paid) >= price * ledger::U256(segments - run.first_state);
}

}  // namespace retrace::node
