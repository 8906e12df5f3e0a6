// SPDX-License-Identifier: MIT
// The one worker of a party, which its agents share. What the ledger gave it is done in the order in which it was given
// (contracts 18.2); training takes what is left.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "solver/agent/work.hpp"
#include "solver/run/preemption.hpp"

namespace retrace::solver {

/// Places in the order of work are heights. What has no deadline waits for what has one,
inline constexpr std::uint64_t kNoDeadline = UINT64_MAX - 1;
/// and what the ledger did not ask for waits for all that it did.
inline constexpr std::uint64_t kUnasked = UINT64_MAX;

/// Where a duty stands. `due`: its place by the ledger; 0: its record has none, and its deadline has to do.
constexpr std::uint64_t place_of(std::uint64_t due, std::uint64_t deadline) noexcept {
    if (due != 0) return due;
    return deadline != 0 ? deadline : kNoDeadline;
}

/// Belongs to the agents' thread, but for `preemption`.
class WorkerSlot {
public:
    explicit WorkerSlot(std::chrono::milliseconds step_most) : preemption_(step_most) {}

    bool is_free() const noexcept { return !out_; }
    /// An order goes out for a duty at `place`.
    void take(std::uint64_t place) noexcept {
        preemption_.clear();
        out_ = place;
    }
    void release() noexcept { out_.reset(); }
    /// A duty at `place` waits: an order that is out for a later one is put off.
    void wait(std::uint64_t place) noexcept {
        if (out_ && place < *out_) preemption_.request();
    }
    /// The earliest move in a dispute that waits, for the agent that hands out everything else.
    void set_waiting_dispute(std::optional<std::uint64_t> place) noexcept { dispute_ = place; }
    bool dispute_goes_before(std::uint64_t place) const noexcept { return dispute_ && *dispute_ <= place; }

    Preemption& preemption() noexcept { return preemption_; }
    /// An order that goes out learns what waits meanwhile: where it waits for peers, and where it computes. The slot
    /// outlives it.
    template <class Result>
    void equip(WorkOrder<Result>& order) {
        order.gives_way = [this] { return preemption_.requested(); };
        order.run = [this, run = std::move(order.run)] {
            const PreemptionScope working(preemption_);
            return run();
        };
    }

private:
    std::optional<std::uint64_t> out_, dispute_;
    Preemption preemption_;
};

}  // namespace retrace::solver
