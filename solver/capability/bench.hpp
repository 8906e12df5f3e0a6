// SPDX-License-Identifier: MIT
// The solver's side of a capability challenge: runs the benchmark until it is told to stop, and opens the drawn
// elements.
#pragma once

#include <atomic>
#include <map>
#include <optional>

#include "solver/capability/evidence.hpp"

namespace retrace::solver {

struct CapabilityClaim {
    std::uint64_t rounds = 0;
    Hash32 root;
};

/// Runs and proves benchmarks for the agent. One call at a time, on a worker thread.
class Benchmarker {
public:
    virtual ~Benchmarker() = default;
    /// Runs at least one round, then continues until `stop` is true or `rounds_max` rounds are done.
    virtual CapabilityClaim run(std::uint64_t challenge, std::uint64_t seed, std::uint64_t rounds_max,
                                const std::atomic<bool>& stop) = 0;
    /// Returns an encoded CapabilityProof of a claim of `rounds`, which may have been made by an earlier process.
    virtual Bytes prove(std::uint64_t challenge, std::uint64_t seed, std::uint64_t rounds,
                        const std::vector<CapabilityDraw>& draws) = 0;
};

/// Keeps some states of the newest run (at most 32 MiB), so that a drawn state is recomputed from a near one. After a
/// restart the whole run is recomputed, with the same result.
class HonestBench final : public Benchmarker {
public:
    /// `pool` must outlive the bench and must not be used by anything else while a call runs.
    explicit HonestBench(kernels::ThreadPool& pool) : pool_(pool) {}
    CapabilityClaim run(std::uint64_t challenge, std::uint64_t seed, std::uint64_t rounds_max,
                        const std::atomic<bool>& stop) override;
    Bytes prove(std::uint64_t challenge, std::uint64_t seed, std::uint64_t rounds,
                const std::vector<CapabilityDraw>& draws) override;
    /// Leaves of the newest run; empty before the first run.
    std::vector<Hash32> leaves() const { return run_ ? run_->leaves : std::vector<Hash32>{}; }

private:
    struct Run {
        std::uint64_t challenge = 0;
        CapabilityMachine machine;
        std::vector<Hash32> leaves;
        std::uint64_t stride = 1;                          ///< States at multiples of it are kept.
        std::map<std::uint64_t, std::vector<float>> kept;  ///< S_t by t.
    };
    void keep(std::uint64_t round, const std::vector<float>& state);
    std::vector<float> state_at(std::uint64_t round) const;

    kernels::ThreadPool& pool_;
    std::optional<Run> run_;
};

}  // namespace retrace::solver
