// SPDX-License-Identifier: MIT
// Answers a solver's capability challenges: runs the benchmark until the challenge's stop height, sends the claim,
// and proves the drawn elements. It is a state machine like SolverAgent, which hands it the challenge of each view.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "solver/agent/work.hpp"
#include "solver/capability/bench.hpp"
#include "solver/chain_view.hpp"

namespace retrace::solver {

/// A benchmark run ended.
struct Measured {
    std::uint64_t challenge = 0;
    CapabilityClaim claim;
};
struct Proved {
    std::uint64_t challenge = 0;
    Bytes proof;
};
using CapabilityResult = std::variant<Measured, Proved>;
using CapabilityWork = WorkOrder<CapabilityResult>;

class CapabilityAgent {
public:
    /// `bench` must outlive the agent. Null: challenges are not answered. A move that the chain does not show is sent
    /// again after `resend_blocks`.
    CapabilityAgent(Benchmarker* bench, std::uint64_t rounds_max, std::uint64_t resend_blocks)
        : bench_(bench), rounds_max_(rounds_max), outbox_(resend_blocks) {}

    struct Output {
        std::vector<SolverMove> moves;
        /// Always none while an order is running. It must start at once, because its work until the stop height is the
        /// solver's score.
        std::optional<CapabilityWork> work;
    };
    Output on_view(std::uint64_t height, const std::optional<ChallengeView>& challenge);
    /// Takes the result of a work order. The move that follows from it is returned by the next on_view.
    void on_done(const CapabilityResult& result);

private:
    void answer(const ChallengeView& challenge, std::uint64_t height, Output& out);
    void prove(const ChallengeView& challenge, std::uint64_t height, Output& out);
    bool due(const char* what, std::uint64_t challenge, std::uint64_t height);

    Benchmarker* bench_;
    std::uint64_t rounds_max_;
    Outbox outbox_;
    bool busy_ = false;                        // An order is running.
    std::uint64_t newest_ = 0;                 // Challenge of the newest order.
    std::shared_ptr<std::atomic<bool>> stop_;  // Stops the newest benchmark run.
    std::optional<Measured> claim_;
    std::optional<Proved> proof_;
};

}  // namespace retrace::solver
