// SPDX-License-Identifier: MIT
// Virtual time: events in order of their time, and of their making where times are equal.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

namespace retrace::sim {

using Millis = std::uint64_t;

class Clock {
public:
    Millis now() const noexcept { return now_; }
    /// What is due in the past happens now.
    void at(Millis time, std::function<void()> what);
    void after(Millis delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
    /// Takes the next event, moves the time there and runs it; false: there is none.
    bool step();

private:
    Millis now_ = 0;
    std::uint64_t made_ = 0;
    std::map<std::pair<Millis, std::uint64_t>, std::function<void()>> events_;
};

}  // namespace retrace::sim
