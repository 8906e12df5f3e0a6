// SPDX-License-Identifier: MIT
// The single worker of a party, shared by its agents. Duties from the ledger run in the order in which the ledger gave
// them (contracts 18.2); training takes the remaining time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "solver/agent/work.hpp"
#include "solver/run/preemption.hpp"

namespace retrace::solver {

/// Places in the order of work are heights. A duty without a deadline comes after all duties with one.
inline constexpr std::uint64_t kNoDeadline = UINT64_MAX - 1;
/// Voluntary work comes after all duties: work that the ledger did not assign, and all training.
inline constexpr std::uint64_t kVoluntary = UINT64_MAX;

/// Place of a duty in the order of work: `due`, its place in the ledger's record, or its deadline if `due` is 0.
constexpr std::uint64_t place_of(std::uint64_t due, std::uint64_t deadline) noexcept {
    if (due != 0) return due;
    return deadline != 0 ? deadline : kNoDeadline;
}

/// Used on the agents' thread only, except `preemption`.
class WorkerSlot {
public:
    explicit WorkerSlot(std::chrono::milliseconds step_most) : preemption_(step_most) {}

    bool is_free() const noexcept { return !out_; }
    /// Marks the worker as busy with an order for a duty at `place`.
    void take(std::uint64_t place) noexcept {
        preemption_.clear();
        out_ = place;
    }
    void release() noexcept { out_.reset(); }
    /// Announces a waiting duty at `place`; preempts the running order if its place is later.
    void wait(std::uint64_t place) noexcept {
        if (out_ && place < *out_) preemption_.request();
    }
    /// Sets the place of the earliest waiting dispute move, which the agent that hands out all other work must respect.
    void set_waiting_dispute(std::optional<std::uint64_t> place) noexcept { dispute_ = place; }
    bool dispute_goes_before(std::uint64_t place) const noexcept { return dispute_ && *dispute_ <= place; }

    Preemption& preemption() noexcept { return preemption_; }
    /// Connects an order with the slot's preemption, both while it waits for peers and while it computes. The slot must
    /// outlive the order.
    template <class Result>
    void equip(WorkOrder<Result>& order) {
        order.stop = [this] { return preemption_.requested(); };
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
