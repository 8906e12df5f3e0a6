// SPDX-License-Identifier: MIT
#include "solver/attacks/unresponsive.hpp"

#include <algorithm>

namespace retrace::solver {

void Unresponsive::filter(const SolverView& view, std::vector<SolverMove>& moves) {
    for (const RunView& run : view.runs) {
        const std::uint64_t last = after_ != 0 ? after_ : run.terms.schedule.segments() / 2 + 1;
        if (run.next_state >= last) silent_.insert(run.terms.id);
    }
    std::erase_if(moves, [&](const SolverMove& move) {
        return std::visit(
            [&](const auto& content) {
                if constexpr (requires { content.run; })
                    return silent_.count(content.task) != 0;
                else
                    return false;  // Bids are still sent; answers to reports name no task.
            },
            move);
    });
}

}  // namespace retrace::solver
