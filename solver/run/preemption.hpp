// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <exception>
#include <utility>

#include "solver/run/step_timeout.hpp"

namespace retrace::solver {

/// Tells a computation that work with an earlier place waits. It stops between two steps, or between two ops of a step
/// that takes long; no result depends on it.
class Preemption {
public:
    explicit Preemption(std::chrono::milliseconds step_most) : timeout_(step_most) {}

    // From any thread.
    void request() noexcept { requested_ = true; }
    void clear() noexcept { requested_ = false; }
    bool requested() const noexcept { return requested_; }

    // The computation's.
    /// A step begins.
    void begin_step() { timeout_.begin(); }
    /// Asked between two ops of it.
    bool may_finish_step() const { return !requested_ || !timeout_.is_over(); }

    // Any thread's that waits for another process.
    /// Whether what began then may go on: it has as much time as a step.
    bool may_go_on_since(StepTimeout::Clock::time_point began) const {
        return !requested_ || !timeout_.is_over_since(began);
    }
    /// Of the order that this thread works on; null: none that may be put off.
    static Preemption* of_this_thread() noexcept { return of_thread_; }

private:
    friend class PreemptionScope;
    static inline thread_local Preemption* of_thread_ = nullptr;
    std::atomic<bool> requested_ = false;
    StepTimeout timeout_;
};

/// While one stands, its thread works on an order that may be put off. For what is waited for deep below, where no
/// caller passes a word: the start of a worker process, a state or a commitment that one makes (solver/worker).
class PreemptionScope {
public:
    explicit PreemptionScope(Preemption& of) noexcept : before_(std::exchange(Preemption::of_thread_, &of)) {}
    ~PreemptionScope() { Preemption::of_thread_ = before_; }
    PreemptionScope(const PreemptionScope&) = delete;
    PreemptionScope& operator=(const PreemptionScope&) = delete;

private:
    Preemption* before_;
};

/// Ends what was left because work with an earlier place waits. Nothing is wrong: the order is put off (make_order).
class PutOff : public std::exception {
public:
    const char* what() const noexcept override { return "work with an earlier place waits"; }
};

}  // namespace retrace::solver
