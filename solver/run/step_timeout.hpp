// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

namespace retrace::solver {

/// How long a step may go on while something urgent waits. No result depends on it: a step that is left is made again.
class StepTimeout {
public:
    explicit StepTimeout(std::chrono::milliseconds most) : most_(most) {}
    /// A step begins.
    void begin() { began_ = Clock::now(); }
    bool is_over() const { return is_over_since(began_); }

    using Clock = std::chrono::steady_clock;
    /// The same of something else that began then.
    bool is_over_since(Clock::time_point began) const { return Clock::now() - began >= most_; }

private:
    std::chrono::milliseconds most_;
    Clock::time_point began_ = Clock::now();
};

}  // namespace retrace::solver
