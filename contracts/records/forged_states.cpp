// SPDX-License-Identifier: MIT
#include "contracts/records/forged_states.hpp"

#include <algorithm>

#include "contracts/records/views.hpp"

namespace retrace::contracts::views {
namespace {

/// Whether both runs have opened the same root for this state.
bool agree(const StateView& view, std::uint64_t task, std::uint32_t run, std::uint32_t other, std::uint64_t state) {
    const auto mine = checkpoint(view, task, run, state), theirs = checkpoint(view, task, other, state);
    return mine && mine->opened && theirs && theirs->opened && mine->root == theirs->root;
}

bool follows_from(const StateView& view, std::uint64_t task, std::optional<std::uint32_t> from, std::uint64_t state,
                  const ConvictedSegment& forged) {
    if (state <= forged.segment) return false;
    // A run that started beyond the segment has only what the run before it had there.
    while (from) {
        const auto reached = run(view, task, *from);
        if (!reached) return false;  // The view of an agent may have failed.
        if (reached->first_state <= forged.segment) break;
        from = started_from(view, task, *from);
    }
    return from && agree(view, task, *from, forged.run, forged.segment) &&
           agree(view, task, *from, forged.run, forged.segment + 1);
}

}  // namespace

bool follows_from_forged(const StateView& view, std::uint64_t task, std::optional<std::uint32_t> run,
                         std::uint64_t state) {
    const auto forged = list<ConvictedSegment>(view, keys::convictions(task));
    return std::any_of(forged.begin(), forged.end(),
                       [&](const ConvictedSegment& segment) { return follows_from(view, task, run, state, segment); });
}

}  // namespace retrace::contracts::views
