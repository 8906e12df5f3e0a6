// SPDX-License-Identifier: MIT
// A solver that claims more benchmark rounds than it computed; for simulation and tests only.
#pragma once

#include "solver/capability/bench.hpp"

namespace retrace::solver {

/// Runs the benchmark honestly, adds seven made-up rounds for each true one, and opens only true rounds, regardless of
/// the drawn ones.
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
