// SPDX-License-Identifier: MIT
// Messages between parties: delayed, lost, overtaking each other, and cut off. Hostile within bounds: what is
// sent again and again arrives, or no honest party could be told from a silent one.
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
    unsigned loss_permille = 40;   ///< Of messages between two nodes that reach each other;
    unsigned losses_in_a_row = 2;  ///< after so many losses from one to another the next one arrives.
};

class Network {
public:
    Network(Random random, NetworkLimits limits) : random_(random), limits_(limits) {}

    /// Nobody reaches `node` and it reaches nobody in [from, until).
    void cut(NodeId node, Millis from, Millis until) { cuts_.push_back({node, from, until}); }
    bool is_cut(NodeId node, Millis now) const;
    /// When a message that is sent now arrives; nullopt: it is lost.
    std::optional<Millis> send(NodeId from, NodeId to, Millis now);

private:
    struct Cut {
        NodeId node = 0;
        Millis from = 0, until = 0;
    };
    Random random_;
    NetworkLimits limits_;
    std::vector<Cut> cuts_;
    std::map<std::pair<NodeId, NodeId>, unsigned> lost_;  // In a row.
};

}  // namespace retrace::sim
