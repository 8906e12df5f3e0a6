// SPDX-License-Identifier: MIT
// Messages between parties: delayed, lost, reordered, and cut off, within bounds: a message that is sent repeatedly
// arrives eventually, or an honest party could not be distinguished from a silent one.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "tests/simulation/clock.hpp"
#include "tests/simulation/random.hpp"

namespace retrace::sim {

using NodeId = std::uint32_t;

struct NetworkLimits {
    Millis delay_max = 900;        ///< Each message draws its own delay, so later ones overtake.
    unsigned loss_permille = 40;   ///< Share of messages lost between two nodes that are not cut off.
    unsigned losses_in_a_row = 2;  ///< After so many losses in a row from one node to another, the next message
                                   ///< arrives.
};

class Network {
public:
    Network(Random random, NetworkLimits limits) : random_(random), limits_(limits) {}

    /// Cuts off `node` in both directions in [from, until).
    void cut(NodeId node, Millis from, Millis until) { cuts_.push_back({node, from, until}); }
    bool is_cut(NodeId node, Millis now) const;
    /// Returns the arrival time of a message sent now; nullopt if it is lost.
    std::optional<Millis> send(NodeId from, NodeId to, Millis now);

private:
    struct Cut {
        NodeId node = 0;
        Millis from = 0, until = 0;
    };
    Random random_;
    NetworkLimits limits_;
    std::vector<Cut> cuts_;
    std::map<std::pair<NodeId, NodeId>, unsigned> lost_;  // Losses in a row.
};

}  // namespace retrace::sim
