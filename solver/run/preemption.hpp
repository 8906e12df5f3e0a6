// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

#include "solver/run/patience.hpp"

namespace retrace::solver {

/// Tells a computation that work with an earlier place waits. It stops between two steps, or between two ops of a step
/// that takes long; no result depends on it.
class Preemption {
public:
    explicit Preemption(std::chrono::milliseconds step_most) : patience_(step_most) {}

    // From any thread.
    void request() noexcept { requested_ = true; }
    void clear() noexcept { requested_ = false; }
    bool requested() const noexcept { return requested_; }

    // The computation's.
    /// A step begins.
    void begin_step() { patience_.begin(); }
    /// Asked between two ops of it.
    bool may_finish_step() const { return !requested_ || !patience_.is_over(); }

private:
    std::atomic<bool> requested_ = false;
    Patience patience_;
};

}  // namespace retrace::solver
