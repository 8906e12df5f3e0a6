// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

namespace retrace::solver {

/// Limits how long a step may continue while urgent work waits. Results do not depend on it: an aborted step is made
/// again.
class StepTimeout {
public:
    explicit StepTimeout(std::chrono::milliseconds most) : most_(most) {}
    /// Starts the timeout.
    void begin() { began_ = Clock::now(); }
    bool is_over() const { return is_over_since(began_); }

    using Clock = std::chrono::steady_clock;
    /// The same for another operation, which started at `began`.
    bool is_over_since(Clock::time_point began) const { return Clock::now() - began >= most_; }

private:
    std::chrono::milliseconds most_;
    Clock::time_point began_ = Clock::now();
};

}  // namespace retrace::solver
