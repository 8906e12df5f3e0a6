// SPDX-License-Identifier: MIT
// `retrace solver`: drives solver::SolverAgent and the solver's side of disputes against a node.
#pragma once

#include <functional>

#include "node/service/cheats.hpp"
#include "node/service/party.hpp"
#include "node/service/sealed_bids.hpp"
#include "node/service/worker.hpp"
#include "solver/adversary/silence.hpp"
#include "solver/agent/agent.hpp"
#include "solver/capability/bench.hpp"
#include "verifier/agent/dispute_agent.hpp"

namespace retrace::node {

struct SolverOptions {
    PartyOptions party;
    std::optional<ledger::U256> price;  ///< Asked for a segment; default: four fifths of the ceiling.
    std::uint8_t hardware_class = 0;
    solver::DeviceChoice device = solver::DeviceChoice::automatic;  ///< A cheat computes on the CPU.
    std::optional<SolverCheat> cheat;    ///< Developer chains only.
    std::set<std::uint64_t> only_tasks;  ///< Bids for these; empty: for all.
    bool pay_for_retention = false;      ///< Offers verifiers a fee for keeping states, to be paid between audits.
};

class SolverService {
public:
    /// Registers and bonds. Fails when a fraud is asked for on a chain that is not a developer's.
    static Result<std::unique_ptr<SolverService>> open(const SolverOptions& options, ledger::SecretKey key);
    /// Until `stop` is true.
    void run(const std::atomic<bool>& stop);

private:
    using AnyResult = std::variant<solver::SolverResult, verifier::Answer>;

    SolverService(const SolverOptions& options, std::unique_ptr<Party> party);
    Status<> enroll();
    void on_block(std::uint64_t height);
    void take_result();
    void play(std::uint64_t height, const std::vector<verifier::DisputeView>& disputes);
    void send(const solver::SolverView& view, const solver::SolverMove& move);
    Quote quote(std::uint64_t task, const market::TaskSpec& spec, const ledger::StateView& state);

    SolverOptions options_;
    std::unique_ptr<Party> party_;
    const SealedBids bids_;
    solver::Workshop workshop_;
    // Benchmarks have threads of their own: the workshop's may be in the middle of a long step.
    kernels::ThreadPool bench_pool_;
    solver::HonestBench bench_;
    std::unique_ptr<solver::SolverAgent> agent_;
    std::unique_ptr<verifier::Desk> desk_;
    std::unique_ptr<verifier::DisputeAgent> disputes_;
    std::optional<solver::Silence> silence_;
    std::optional<solver::TrickyMoves> tricks_;
    Worker<AnyResult> worker_;
    Worker<solver::SolverResult> bench_worker_;
    std::map<std::uint64_t, std::string> told_why_not_;   // By task: said once.
    std::map<std::uint64_t, std::uint64_t> reveal_ends_;  // By task, of the current auction.
};

}  // namespace retrace::node
