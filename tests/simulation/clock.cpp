// SPDX-License-Identifier: MIT
#include "tests/simulation/clock.hpp"

#include <algorithm>

namespace retrace::sim {

void Clock::at(Millis time, std::function<void()> what) {
    events_.emplace(std::pair{std::max(time, now_), made_++}, std::move(what));
}

bool Clock::step() {
    if (events_.empty()) return false;
    const auto first = events_.begin();
    now_ = first->first.first;
    const std::function<void()> what = std::move(first->second);
    events_.erase(first);
    what();
    return true;
}

}  // namespace retrace::sim
