// SPDX-License-Identifier: MIT
#include "node/agents/delivered_runs.hpp"

#include <algorithm>

#include "contracts/records/views.hpp"

namespace retrace::node {
namespace {

namespace views = contracts::views;

std::optional<Hash32> opened_root(const ledger::StateView& state, const market::Run& run, std::uint64_t index) {
    const auto checkpoint = views::checkpoint(state, run.task, run.index, index);
    return checkpoint && checkpoint->opened ? std::optional(checkpoint->root) : std::nullopt;
}

bool stands(const market::Run& run) {
    return run.state != market::RunState::forfeited && run.state != market::RunState::left;
}

}  // namespace

std::vector<market::Run> delivered_runs(const ledger::StateView& state, const market::Task& task,
                                        std::uint64_t segments, const std::string& solver) {
    std::vector<market::Run> newest_first;
    for (std::uint32_t index = 0; index < task.runs; ++index) {
        auto run = views::run(state, task.id, index);
        if (!run) break;  // a ledger has all runs up to `runs`; a lying node could make this loop endless
        newest_first.insert(newest_first.begin(), std::move(*run));
    }
    std::vector<market::Run> out;
    const auto take = [&](const auto& fits) {
        const auto found = std::find_if(newest_first.begin(), newest_first.end(), fits);
        if (found != newest_first.end()) out.push_back(*found);
        return found != newest_first.end();
    };
    bool found = take([&](const market::Run& run) {
        return stands(run) && (solver.empty() || ledger::to_0x(run.solver) == solver) &&
               opened_root(state, run, segments).has_value();
    });
    while (found && out.back().first_state != 0) {
        const market::Run next = out.back();
        found = take([&](const market::Run& run) {
            return run.first_state < next.first_state && run.finalised >= next.first_state &&
                   opened_root(state, run, next.first_state) == next.first_root;
        });
    }
    return out;
}

const market::Run* run_of_segment(const std::vector<market::Run>& runs, std::uint64_t index) {
    for (const market::Run& run : runs) {
        if (run.first_state <= index) return &run;
    }
    return nullptr;
}

}  // namespace retrace::node
