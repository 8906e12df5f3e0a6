// SPDX-License-Identifier: MIT
// A chain of one task for the agents: every segment is audited by all verifiers, and there are no deadlines. Solver and
// verifiers communicate through views and moves only, as on the real chain.
#pragma once

#include <map>

#include "solver/agent/agent.hpp"
#include "solver/artifacts/availability.hpp"
#include "solver/attacks/compute_attacks.hpp"
#include "solver/attacks/unresponsive.hpp"
#include "solver/commitments.hpp"
#include "tests/unit/solver/tiny_task.hpp"
#include "verifier/agent/agent.hpp"
#include "verifier/attacks/verifier_attacks.hpp"

namespace retrace::test {

/// Serves the contents of a solver's store, and the artifacts of the task.
class StoreSource final : public solver::ArtifactSource {
public:
    StoreSource(MemorySource& task, solver::CheckpointStore& store, kernels::ThreadPool& pool)
        : task_(task), store_(store), pool_(pool) {}
    Result<Bytes> program(const Hash32& root, std::uint64_t limit) override { return task_.program(root, limit); }
    Result<solver::StateRoots> state(const Hash32& root) override {
        const auto found = withhold ? std::nullopt : store_.state(root);
        return found ? Result<solver::StateRoots>(*found) : task_.state(root);
    }
    Result<kernels::Tensor> tensor(const Hash32& root, const kernels::TensorRecord& record) override {
        if (!withhold) {
            auto found = store_.tensor(root, pool_);
            if (found) return found;
        }
        return task_.tensor(root, record);
    }
    bool withhold = false;

private:
    MemorySource& task_;
    solver::CheckpointStore& store_;
    kernels::ThreadPool& pool_;
};

struct SolverParty {
    TemporaryDirectory directory;
    std::unique_ptr<solver::CheckpointStore> store;
    std::unique_ptr<solver::TaskCache> task_cache;
    std::unique_ptr<solver::SolverAgent> agent;
    std::unique_ptr<verifier::DisputeReplays> dispute_replays;
    std::unique_ptr<verifier::DisputeAgent> disputes;

    SolverParty(TinyTask& task, solver::RunnerFactory runners);
    /// Simulates a restart after kill -9: everything but the store is recreated.
    void restart(TinyTask& task, solver::RunnerFactory runners);
};

struct VerifierParty {
    TemporaryDirectory directory;
    std::unique_ptr<solver::CheckpointStore> store;
    std::unique_ptr<solver::TaskCache> task_cache;
    std::unique_ptr<verifier::Verifier> agent;
    solver::PartyId address{};
    Hash32 secret;

    VerifierParty(TinyTask& task, solver::ArtifactSource& source, std::uint8_t number,
                  std::optional<verifier::VerifierAttack> fraud);
};

class MiniChain {
public:
    struct Seat {
        Hash32 commitment;
        std::optional<Hash32> revealed;
    };
    struct Audit {
        std::uint64_t id = 0;
        std::uint64_t segment = 0;
        std::optional<Hash32> start, end;
        std::map<std::size_t, Seat> seats;  ///< Keyed by verifier.
    };
    struct Dispute {
        std::size_t verifier = 0;
        std::uint64_t segment = 0;
        verifier::Game game;
        Hash32 claimed_root;  ///< Root claimed by the challenger.
    };

    MiniChain(TinyTask& task, SolverParty& solver, std::vector<VerifierParty*> verifiers);

    /// Passes one block: sends views, handles moves, and runs every work order at once.
    void block();
    void run(std::size_t blocks) {
        for (std::size_t i = 0; i < blocks; ++i) block();
    }

    bool accepted = false, declined = false;
    std::map<std::uint64_t, Hash32> commitments;  ///< Keyed by checkpoint.
    std::vector<Audit> audits;
    std::vector<Dispute> disputes;
    std::vector<verifier::ReportUnavailable> reports;
    std::map<std::uint64_t, Bytes> answers;
    std::vector<std::uint64_t> attested;
    std::vector<verifier::ChallengeInitial> initial_challenges;
    std::uint64_t height = 0;
    std::function<void(std::vector<solver::SolverMove>&, const solver::SolverView&)> solver_filter;

private:
    solver::SolverView solver_view() const;
    verifier::VerifierView verifier_view(std::size_t index) const;
    std::vector<verifier::DisputeView> dispute_views(verifier::Side side, std::size_t index) const;
    void take(const solver::SolverMove& move);
    void take(std::size_t index, const verifier::VerifierMove& move);
    void play(const verifier::PlayMove& move, verifier::Side side);
    void next_audit();

    TinyTask& task_;
    SolverParty& solver_;
    std::vector<VerifierParty*> verifiers_;
};

}  // namespace retrace::test
