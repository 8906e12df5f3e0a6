// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <concepts>
#include <functional>
#include <optional>
#include <utility>

namespace retrace::kernels {

/// Tells long work to stop. The work polls the token wherever it can stop. Unlike std::stop_token, it may have a
/// deadline, and its condition is computed when it is polled. An empty token never stops the work.
class StopToken {
public:
    using Clock = std::chrono::steady_clock;

    StopToken() = default;
    /// `requested` returns true once the work has to stop. The thread that works calls it.
    template <std::predicate Requested>
    StopToken(Requested requested) : requested_(std::move(requested)) {}
    /// A token whose deadline passes after this time.
    static StopToken after(Clock::duration time) { return StopToken().ending_after(time); }

    /// The same condition with a deadline that passes after this time.
    StopToken ending_after(Clock::duration time) const {
        StopToken out = *this;
        out.deadline_ = Clock::now() + time;
        return out;
    }
    std::optional<Clock::time_point> deadline() const noexcept { return deadline_; }

    /// Whether a condition was given. It says nothing about the deadline.
    bool has_condition() const noexcept { return static_cast<bool>(requested_); }
    /// Whether the condition holds, whatever the deadline.
    bool stop_requested() const { return requested_ && requested_(); }
    bool deadline_passed() const { return deadline_ && Clock::now() >= *deadline_; }

private:
    std::function<bool()> requested_;
    std::optional<Clock::time_point> deadline_;
};

}  // namespace retrace::kernels
