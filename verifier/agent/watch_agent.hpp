// SPDX-License-Identifier: MIT
// Checks states and segments for which the verifier was not drawn: it compares seeded initial states with the
// initialiser's output, replays a share of all opened segments voluntarily, and challenges those that are wrong.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "verifier/agent/agent_context.hpp"
#include "verifier/agent/agent_order.hpp"
#include "verifier/agent/failed_work.hpp"
#include "verifier/agent/segment_replays.hpp"
#include "verifier/chain_view.hpp"

namespace retrace::verifier {

/// Result of comparing the seeded initialiser's output with a run's state 0.
struct InitialChecked {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::optional<Hash32> other;  ///< Own root, if it differs.
    std::string problem;
    bool preempted = false;  ///< Preempted by more urgent work: it is retried later.
};
/// Result of replaying a segment that this party was not drawn for.
struct Watched {
    std::uint64_t task = 0;
    std::uint32_t run = 0;
    std::uint64_t segment = 0;
    std::optional<Hash32> other;  ///< Own root of the end, if it differs.
    std::string problem;
    bool preempted = false;  ///< Preempted by more urgent work: it is resumed later.
};

class WatchAgent {
public:
    /// `context` and `replays` outlive the agent. Only its work orders use `replays`.
    WatchAgent(AgentContext& context, SegmentReplays& replays)
        : context_(context), replays_(replays), failed_(context) {}
    WatchAgent(const WatchAgent&) = delete;
    WatchAgent& operator=(const WatchAgent&) = delete;

    /// Whether the agent would replay the segment voluntarily. False for a segment that it replayed and found right.
    bool watches(std::uint64_t task, std::uint32_t run, std::uint64_t segment) const;

    /// Challenges the states and segments that were found wrong.
    void on_view(const VerifierView& view, std::vector<VerifierMove>& moves);

    /// The first check of an initial state that the ledger assigned.
    std::optional<Duty<InitialView>> first_duty(const VerifierView& view) const;
    AgentOrder<InitialChecked> check_order(const InitialView& initial);
    /// A check of an initial state that waits, assigned or not.
    std::optional<AgentOrder<InitialChecked>> voluntary_check_order(const VerifierView& view);
    /// A replay of a segment.
    std::optional<AgentOrder<Watched>> watch_order(const VerifierView& view);
    void on_done(const InitialChecked& checked);
    void on_done(const Watched& seen);

private:
    using RunKey = std::pair<std::uint64_t, std::uint32_t>;

    bool waits_for_check(const InitialView& initial) const;
    bool waits_for_replay(const WatchView& seen) const;
    void forget_closed(const VerifierView& view);
    /// Pseudo-random number for a segment, derived from the secret, so that nobody else knows which segments are
    /// replayed and in which order.
    std::uint64_t draw_of(std::uint64_t task, std::uint32_t run, std::uint64_t segment) const;

    // Worker thread.
    InitialChecked check_initial(const InitialView& view);
    Watched watch(const WatchView& view);

    AgentContext& context_;
    SegmentReplays& replays_;
    FailedWork failed_;
    std::map<RunKey, std::optional<Hash32>> initials_;                // Run → own root of state 0 where it differs.
    std::map<solver::CheckpointKey, std::optional<Hash32>> watched_;  // Segment → own root where it differs.
    std::map<solver::CheckpointKey, std::uint64_t> right_;  // Watched segment that was right → height of the replay.
};

}  // namespace retrace::verifier
