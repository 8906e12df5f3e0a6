// SPDX-License-Identifier: MIT
#include "node/agents/machine_speed.hpp"

#include <algorithm>

#include "solver/capability/program.hpp"

namespace retrace::node {

double multiply_adds_per_second(kernels::ThreadPool& pool, std::chrono::milliseconds time) {
    const solver::CapabilityMachine machine(1, pool);
    std::vector<float> state = machine.first(), next(state.size());
    machine.step(0, state, next);  // The first round also brings memory and code into the caches.
    state.swap(next);
    const auto start = std::chrono::steady_clock::now();
    std::chrono::duration<double> took{};
    std::uint64_t rounds = 0;
    do {
        machine.step(++rounds, state, next);
        state.swap(next);
        took = std::chrono::steady_clock::now() - start;
    } while (took < time);
    return static_cast<double>(rounds * solver::kCapabilityRoundCost) / std::max(took.count(), 1e-9);
}

}  // namespace retrace::node
