// SPDX-License-Identifier: MIT
// Virtual time: events ordered by time, and by creation where times are equal.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

namespace retrace::sim {

using Millis = std::uint64_t;

class Clock {
public:
    Millis now() const noexcept { return now_; }
    /// Schedules `what` at `time`, or now if `time` is in the past.
    void at(Millis time, std::function<void()> what);
    void after(Millis delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }
    /// Advances time to the next event and runs it. Returns false if there is none.
    bool step();

private:
    Millis now_ = 0;
    std::uint64_t made_ = 0;
    std::map<std::pair<Millis, std::uint64_t>, std::function<void()>> events_;
};

}  // namespace retrace::sim
