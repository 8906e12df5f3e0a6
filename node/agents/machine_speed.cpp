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

std::optional<double> block_time(RpcClient& client, std::uint64_t height) {
    constexpr std::uint64_t kBlocks = 100;
    const std::uint64_t from = height > kBlocks ? height - kBlocks : 1;  // Block 0 has the genesis' time.
    if (height <= from) return std::nullopt;
    const auto time_of = [&](std::uint64_t at) { return client.block_time(at); };
    const auto first = time_of(from), last = time_of(height);
    if (!first || !last || *last <= *first) return std::nullopt;
    return static_cast<double>(*last - *first) / static_cast<double>(height - from);
}

bool computes_on_device(solver::DeviceChoice choice) {
    return choice == solver::DeviceChoice::cuda ||
           (choice == solver::DeviceChoice::automatic && solver::check_device(solver::DeviceChoice::cuda));
}

}  // namespace retrace::node
