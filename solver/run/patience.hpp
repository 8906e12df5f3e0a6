// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

namespace retrace::solver {

/// How long a step may go on while something urgent waits. No result depends on it: a step that is left is made again.
class Patience {
public:
    explicit Patience(std::chrono::milliseconds most) : most_(most) {}
    /// A step begins.
    void begin() { began_ = Clock::now(); }
    bool is_over() const { return Clock::now() - began_ >= most_; }

private:
    using Clock = std::chrono::steady_clock;
    std::chrono::milliseconds most_;
    Clock::time_point began_ = Clock::now();
};

}  // namespace retrace::solver
