// SPDX-License-Identifier: MIT
#include "tests/simulation/network.hpp"

#include <algorithm>

namespace retrace::sim {

bool Network::is_cut(NodeId node, Millis now) const {
    return std::any_of(cuts_.begin(), cuts_.end(),
                       [&](const Cut& cut) { return cut.node == node && cut.from <= now && now < cut.until; });
}

std::optional<Millis> Network::send(NodeId from, NodeId to, Millis now) {
    const Millis delay = random_.between(1, limits_.delay_max);
    const bool unlucky = random_.chance(limits_.loss_permille);
    if (is_cut(from, now) || is_cut(to, now + delay)) return std::nullopt;
    unsigned& lost = lost_[{from, to}];
    if (unlucky && lost < limits_.losses_in_a_row) {
        ++lost;
        return std::nullopt;
    }
    lost = 0;
    return now + delay;
}

}  // namespace retrace::sim
