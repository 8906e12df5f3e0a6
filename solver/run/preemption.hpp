// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <utility>

#include "kernels/runtime/stop_token.hpp"

namespace retrace::solver {

/// Tells a computation that work with an earlier place waits. The computation stops between two steps, or between two
/// ops of a long step; results do not depend on it.
class Preemption {
public:
    using Clock = kernels::StopToken::Clock;
    /// `step_timeout`: the time that a step still has when work with an earlier place waits.
    explicit Preemption(std::chrono::milliseconds step_timeout) : step_timeout_(step_timeout) {}

    // Called from any thread.
    void request() noexcept { requested_ = true; }
    void clear() noexcept { requested_ = false; }
    bool requested() const noexcept { return requested_; }

    // Called by the computation.
    /// Starts the timeout of a step.
    void begin_step() { began_ = Clock::now(); }
    /// Requests a stop when the step has to be aborted: preemption was requested, and the step's timeout is over.
    kernels::StopToken step_stop() const {
        return [this] { return must_stop_since(began_); };
    }

    // Called by any thread that waits for another process.
    /// Whether an operation that started at `began` has to stop; it has the same timeout as a step.
    bool must_stop_since(Clock::time_point began) const { return requested_ && Clock::now() - began >= step_timeout_; }
    /// The preemption of the order that this thread runs; null if it runs none that can be preempted.
    static Preemption* of_this_thread() noexcept { return of_thread_; }

private:
    friend class PreemptionScope;
    static inline thread_local Preemption* of_thread_ = nullptr;
    std::atomic<bool> requested_ = false;
    std::chrono::milliseconds step_timeout_;
    Clock::time_point began_ = Clock::now();
};

/// While it exists, its thread runs an order that can be preempted. It is for waits deep in the call stack that get no
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

/// Thrown to abort a computation because work with an earlier place waits. It is no failure: make_order returns
/// a result that is marked as preempted.
class Preempted : public std::exception {
public:
    const char* what() const noexcept override { return "work with an earlier place waits"; }
};

}  // namespace retrace::solver
