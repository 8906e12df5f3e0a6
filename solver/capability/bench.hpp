// SPDX-License-Identifier: MIT
// The solver's side of a capability challenge: runs the benchmark until it is told to stop, and opens what is
// drawn.
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

/// Where the agent's measurements are made. One call at a time, on a worker thread.
class Benchmarker {
public:
    virtual ~Benchmarker() = default;
    /// At least one round, then until `stop` is true or `rounds_max` are done.
    virtual CapabilityClaim run(std::uint64_t challenge, std::uint64_t seed, std::uint64_t rounds_max,
                                const std::atomic<bool>& stop) = 0;
    /// An encoded CapabilityProof of a claim of `rounds`, which may be an earlier process's.
    virtual Bytes prove(std::uint64_t challenge, std::uint64_t seed, std::uint64_t rounds,
                        const std::vector<CapabilityDraw>& draws) = 0;
};

/// Keeps some states of the newest run (at most 32 MiB), so that a drawn one is near; what is not here, after
/// a restart, is computed again and is the same.
class HonestBench final : public Benchmarker {
public:
    /// `pool` outlives the bench and belongs to it alone while a call runs.
    explicit HonestBench(kernels::ThreadPool& pool) : pool_(pool) {}
    CapabilityClaim run(std::uint64_t challenge, std::uint64_t seed, std::uint64_t rounds_max,
                        const std::atomic<bool>& stop) override;
    Bytes prove(std::uint64_t challenge, std::uint64_t seed, std::uint64_t rounds,
                const std::vector<CapabilityDraw>& draws) override;
    /// Of the newest run; empty before the first.
    std::vector<Hash32> leaves() const { return run_ ? run_->leaves : std::vector<Hash32>{}; }

private:
    struct Run {
        std::uint64_t challenge = 0;
        CapabilityMachine machine;
        std::vector<Hash32> leaves;
        std::uint64_t stride = 1;                          ///< Kept are the states of its multiples.
        std::map<std::uint64_t, std::vector<float>> kept;  ///< S_t by t.
    };
    void keep(std::uint64_t round, const std::vector<float>& state);
    std::vector<float> state_at(std::uint64_t round) const;

    kernels::ThreadPool& pool_;
    std::optional<Run> run_;
};

}  // namespace retrace::solver
