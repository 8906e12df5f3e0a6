// SPDX-License-Identifier: MIT
// A party's own replays of the segments that it disputes.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "solver/agent/task_cache.hpp"
#include "verifier/agent/replay_inputs.hpp"
#include "verifier/chain_view.hpp"
#include "verifier/replay/replayer.hpp"

namespace retrace::verifier {

/// Reason why there is no move.
struct MoveProblem {
    enum class Kind : std::uint8_t {
        failed = 1,     ///< It may succeed later: data was not served, or memory was insufficient.
        preempted = 2,  ///< Preempted: progress is kept, and the next call resumes from there.
        no_case = 3,    ///< The second replay does not support the accusation: this side makes no move (SPEC 8.2).
    };
    std::string message;
    Kind kind = Kind::failed;

    MoveProblem(std::string text, Kind which) : message(std::move(text)), kind(which) {}
    MoveProblem(Error error) : message(std::move(error.message)) {}
};

/// Holds one replay for each dispute, so that moves in one dispute do not discard another's progress. Replays of the
/// same segment share its start and the roots that any of them found. Only the worker uses it, one call at a time,
/// except for `sweep`.
///
/// Memory: the task cache counts one replay for each task: the one that is making a move or, between moves, that of the
/// dispute in which this party's clock can run out first. The others are kept in that order as far as the task cache
/// has memory to spare. A replay that does not fit is dropped; its next move then starts at the segment's start, which
/// costs time.
class DisputeReplays {
public:
    /// Returns the state at the start of the view's segment.
    using StartState = std::function<Result<kernels::State>(const DisputeView&)>;
    /// `task_cache` and `messages` outlive the replays; `messages` as in ReplayInputSource. `memory`: limit in bytes for replays that the task cache does not count; they
    /// never take more than it has to spare.
    DisputeReplays(solver::TaskCache& task_cache, StartState start, solver::MessageStore* messages = nullptr,
                   std::uint64_t memory = UINT64_MAX);
    ~DisputeReplays();
    DisputeReplays(const DisputeReplays&) = delete;
    DisputeReplays& operator=(const DisputeReplays&) = delete;

    /// Returns the encoded move that is due. A task that does not fit beside the others evicts them; they are fetched
    /// again when they are needed. Before a challenger's first move its replay serves as the second replay of the
    /// accused segment. `preemption`: tells the call to stop; null: the call is not preempted.
    Result<Bytes, MoveProblem> answer(const DisputeView& view, solver::Preemption* preemption = nullptr);
    /// Drops the replays of all disputes that are not in `open` at `height`. May be called from any thread.
    void sweep(const std::vector<DisputeView>& open, std::uint64_t height);
    /// Memory of all replays together.
    std::uint64_t kept_bytes() const;

private:
    struct Segment {
        std::uint64_t task = 0;
        std::uint32_t run = 0;
        std::uint64_t index = 0;
        bool initialiser = false;
        auto operator<=>(const Segment&) const = default;
    };
    struct DisputeReplay {
        Segment segment;
        Replayer replay;
    };
    using Replays = std::map<std::uint64_t, DisputeReplay>;  // Keyed by dispute.
    /// Dispute → the first height at which this party's clock may have run out.
    using Clocks = std::map<std::uint64_t, std::uint64_t>;

    static Segment segment_of(const DisputeView& view);
    Result<Bytes, MoveProblem> attempt(const DisputeView& view, solver::Preemption* preemption);
    Result<Replayer*> replay_of(const DisputeView& view);
    Clocks clocks() const;
    void drop_closed();
    void keep_within(std::uint64_t spare);
    std::uint64_t spare();
    std::uint64_t all_bytes() const;
    bool give_up_task_but(std::uint64_t task);

    solver::TaskCache& task_cache_;
    ReplayInputSource inputs_;
    StartState start_;
    std::uint64_t memory_;
    mutable std::mutex use_;  // Guards the replays; `answer` holds it for a whole move.
    struct Working {
        std::uint64_t dispute = 0;
        Segment segment;
    };
    std::optional<Working> working_;  // Set while a move is made. Worker only.
    Replays replays_;
    mutable std::mutex open_mutex_;
    Clocks open_;
};

}  // namespace retrace::verifier
