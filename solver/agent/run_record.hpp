// SPDX-License-Identifier: MIT
// Records that the solver's agent keeps of a run, and of a report about it, besides the chain and the checkpoint store.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "kernels/runtime/tensor.hpp"
#include "solver/agent/retry.hpp"
#include "solver/agent/solver_work.hpp"
#include "solver/chain_view.hpp"

namespace retrace::solver {

inline RunKey key_of(const RunView& run) { return {run.terms.id, run.run}; }

/// What a running order of a member reads of the newest view.
struct RoundClock {
    std::atomic<std::uint64_t> height = 0;
    std::atomic<std::uint64_t> deadline = 0;  ///< Up to which the open round takes messages; 0: none, or it takes none.
    std::atomic<std::uint32_t> next_round = 0;  ///< The round that takes the next message: the open one, or the next.
    /// Base of inner steps that a stopped order has left in RunRecord::suspended; kNone: there are none.
    std::atomic<std::uint64_t> inner_base = kNone;
    /// Base of inner steps that are made, and whose masks are not known yet; kNone: there are none.
    std::atomic<std::uint64_t> awaits_masks = kNone;
    static constexpr std::uint64_t kNone = UINT64_MAX;
};

/// When the inner steps of a segment began, of a member whose speed is held down; interruptions move it on.
struct PacedSteps {
    std::uint64_t index = 0;
    std::chrono::steady_clock::time_point began = {}, left = {};  ///< `left`: at the end of the newest step.
};

/// A state of a member, and the rollbacks that it knows of.
struct Made {
    std::uint64_t index = 0;
    std::uint8_t attempt = 0;
    bool operator==(const Made&) const = default;
};

struct RunRecord {
    std::optional<Prepared> prepared = {};         ///< Result of the newest preparation that was not preempted.
    std::optional<Retry> retry = {};               ///< Present if the run's last order failed.
    std::uint64_t deadline = 0;                    ///< RunView::deadline in the last view; 0 if the view lacks the run.
    std::uint64_t known = 0;                       ///< The roots of all states below this index are known.
    std::optional<std::uint64_t> over_since = {};  ///< Height at which the run was first seen over.
    /// State of a preempted training. A running order takes it and leaves another, on the worker thread. Therefore the
    /// agent accesses it, and erases records, only while no order of its own runs.
    std::optional<kernels::State> suspended = {};
    // Of a group's member:
    std::optional<PacedSteps> paced = {};    ///< As `suspended`.
    std::uint8_t attempt = 0;                ///< The rollbacks that `suspended` knows of,
    std::optional<Made> made = {};           ///< and the newest state that was made, with those that it knows of.
    std::optional<Retry> gathering = {};     ///< Present if messages of a round could not be fetched last time.
    std::optional<Retry> restoring = {};     ///< Present if a lost state could not be made again last time.
    std::shared_ptr<RoundClock> clock = {};  ///< Null before the first view.
};

/// A seat of a group that may be taken.
struct SeatRecord {
    SeatView wanted;                     ///< As in the newest view that had it.
    std::uint64_t seen = 0;              ///< Height of that view.
    std::optional<SeatView> ready = {};  ///< As it was last prepared.
    std::optional<Retry> retry = {};     ///< Present if it could not be prepared the last time.
};

struct ReportRecord {
    Bytes answer = {};                ///< Empty until it is made.
    std::optional<Retry> retry = {};  ///< Present if the answer could not be made the last time.
};

}  // namespace retrace::solver
