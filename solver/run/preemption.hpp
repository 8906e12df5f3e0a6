// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <exception>
#include <utility>

#include "solver/run/step_timeout.hpp"

namespace retrace::solver {

/// Tells a computation that work with an earlier place waits. The computation stops between two steps, or between two
/// ops of a long step; results do not depend on it.
class Preemption {
public:
    explicit Preemption(std::chrono::milliseconds step_most) : timeout_(step_most) {}

    // Called from any thread.
    void request() noexcept { requested_ = true; }
    void clear() noexcept { requested_ = false; }
    bool requested() const noexcept { return requested_; }

    // Called by the computation.
    /// Starts the timeout of a step.
    void begin_step() { timeout_.begin(); }
    /// Called between two ops of the step; false: the step has to be aborted.
    bool may_finish_step() const { return !requested_ || !timeout_.is_over(); }

    // Called by any thread that waits for another process.
    /// Whether an operation that started at `began` may continue; it has the same timeout as a step.
    bool may_go_on_since(StepTimeout::Clock::time_point began) const {
        return !requested_ || !timeout_.is_over_since(began);
    }
    /// The preemption of the order that this thread runs; null if it runs none that may be put off.
    static Preemption* of_this_thread() noexcept { return of_thread_; }

private:
    friend class PreemptionScope;
    static inline thread_local Preemption* of_thread_ = nullptr;
    std::atomic<bool> requested_ = false;
    StepTimeout timeout_;
};

/// While it exists, its thread runs an order that may be put off. It is for waits deep in the call stack that get no
/// argument for it: the start of a worker process, and its transfers of states and commitments (solver/worker).
class PreemptionScope {
public:
    explicit PreemptionScope(Preemption& of) noexcept : before_(std::exchange(Preemption::of_thread_, &of)) {}
    ~PreemptionScope() { Preemption::of_thread_ = before_; }
    PreemptionScope(const PreemptionScope&) = delete;
    PreemptionScope& operator=(const PreemptionScope&) = delete;

private:
    Preemption* before_;
};

/// Thrown to abort a computation because work with an earlier place waits. It is no failure: make_order puts the order
/// off.
class PutOff : public std::exception {
public:
    const char* what() const noexcept override { return "work with an earlier place waits"; }
};

}  // namespace retrace::solver
