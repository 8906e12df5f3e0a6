// SPDX-License-Identifier: MIT
// A party's own replays of what it disputes.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "solver/agent/task_cache.hpp"
#include "verifier/chain_view.hpp"
#include "verifier/replay/replayer.hpp"

namespace retrace::verifier {

/// Why there is no move.
struct MoveProblem {
    enum class Kind : std::uint8_t {
        failed = 1,   ///< It may be made later: something was not served, or did not fit into memory.
        put_off = 2,  ///< It was told to stop: what was reached is kept, and the next call goes on from there.
        no_case = 3,  ///< The second replay does not bear the accusation out: this side makes no move (SPEC 8.2).
    };
    std::string message;
    Kind kind = Kind::failed;

    MoveProblem(std::string text, Kind which) : message(std::move(text)), kind(which) {}
    MoveProblem(Error error) : message(std::move(error.message)) {}
};

/// One replay for each dispute, so that the moves of one cost no other anything; those about one segment share its
/// start and what any of them found. Belongs to the worker, one call at a time, but for `sweep`.
///
/// Memory: of each task the task cache counts one replay, the one that makes a move or, between moves, that of the
/// dispute in which this party's clock can run out first. The others are kept in that order as far as the task cache
/// has memory to spare. What does not fit is dropped and costs time: its next move begins at the segment's start.
class DisputeReplays {
public:
    /// Gives the state at the start of the view's segment.
    using StartState = std::function<Result<kernels::State>(const DisputeView&)>;
    /// `task_cache` outlives the replays. `memory`: bytes for replays beside those that the task cache counts, and
    /// never more than it has to spare.
    DisputeReplays(solver::TaskCache& task_cache, StartState start, std::uint64_t memory = UINT64_MAX);
    ~DisputeReplays();
    DisputeReplays(const DisputeReplays&) = delete;
    DisputeReplays& operator=(const DisputeReplays&) = delete;

    /// The move that is due, encoded. A task that does not fit beside others takes their place: they are fetched again
    /// when they are needed. Before a challenger's first move its replay is the second replay of what it accuses.
    /// `preemption`: what tells it to stop; null: nothing does.
    Result<Bytes, MoveProblem> answer(const DisputeView& view, solver::Preemption* preemption = nullptr);
    /// The disputes that are open at `height`: replays of others are dropped. From any thread.
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
        Replayer truth;
    };
    using Replays = std::map<std::uint64_t, DisputeReplay>;  // By dispute.
    /// Dispute → the first height at which this party's clock may have run out.
    using Clocks = std::map<std::uint64_t, std::uint64_t>;

    static Segment segment_of(const DisputeView& view);
    Result<Bytes, MoveProblem> attempt(const DisputeView& view, solver::Preemption* preemption);
    Result<Replayer*> truth(const DisputeView& view);
    Clocks clocks() const;
    void drop_closed();
    void keep_within(std::uint64_t spare);
    std::uint64_t spare();
    std::uint64_t all_bytes() const;
    bool give_up_task_but(std::uint64_t task);

    solver::TaskCache& task_cache_;
    StartState start_;
    std::uint64_t memory_;
    mutable std::mutex use_;  // Of the replays; a move has it for as long as it takes.
    struct Working {
        std::uint64_t dispute = 0;
        Segment segment;
    };
    std::optional<Working> working_;  // While a move is made. The worker's.
    Replays replays_;
    mutable std::mutex open_mutex_;
    Clocks open_;
};

}  // namespace retrace::verifier
