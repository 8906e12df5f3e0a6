// SPDX-License-Identifier: MIT
// A solver that claims more of a benchmark than it computed; for simulation and tests. Nothing of the product
// makes one.
#pragma once

#include "solver/capability/bench.hpp"

namespace retrace::solver {

/// Runs the benchmark honestly, adds seven made-up rounds for each true one, and opens true rounds whatever
/// is drawn.
class InflatedBenchmark final : public Benchmarker {
public:
    explicit InflatedBenchmark(kernels::ThreadPool& pool) : honest_(pool) {}
    CapabilityClaim run(std::uint64_t challenge, std::uint64_t seed, std::uint64_t rounds_max,
                        const std::atomic<bool>& stop) override;
    Bytes prove(std::uint64_t challenge, std::uint64_t seed, std::uint64_t rounds,
                const std::vector<CapabilityDraw>& draws) override;

private:
    HonestBench honest_;
};

}  // namespace retrace::solver
