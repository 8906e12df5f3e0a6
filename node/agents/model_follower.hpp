// SPDX-License-Identifier: MIT
// The requester of a training in rounds replays its records, so that it has the model after each round.
#pragma once

#include <functional>

#include "node/agents/chain_reader.hpp"
#include "node/agents/run_peers.hpp"
#include "node/agents/views.hpp"
#include "node/artifacts/store.hpp"
#include "solver/agent/task_cache.hpp"
#include "solver/rounds/group_follower.hpp"

namespace retrace::node {

class ModelFollower {
public:
    using OpenStore = std::function<Result<std::unique_ptr<Store>>()>;
    /// `chain` outlives the follower. `runners` run the plan's phases, which a stranger may have written.
    ModelFollower(ChainReader& chain, std::uint64_t task, solver::RunnerFactory runners)
        : chain_(chain), task_(task), runners_(std::move(runners)) {}

    /// Takes in the records that closed since the last call; returns whether there were any. After a rollback of what it has
    /// taken in it begins anew. It begins before the first
    /// round, or, if messages of the first rounds are not kept any more, at the newest state that is final and open.
    /// `open_store` is called if there is something to fetch, and its store is closed with the return. Errors: no group, a
    /// message or a state that nobody serves now (the next call tries it again), a worker that ended or has too little
    /// memory (the next call begins again), and records that lead to another model than the final state of a member: the
    /// node or a member shows what is not on the ledger.
    Result<bool> advance(const OpenStore& open_store);

    /// Rounds whose records are in the model.
    std::uint32_t rounds() const noexcept { return follower_ ? follower_->base() : 0; }
    /// Whether no message in the model can be found wrong any more: each is in a segment that is final, or its author was
    /// convicted or has ended already.
    bool is_final() const noexcept { return follower_ && final_rounds_ >= follower_->base(); }
    /// Rounds, from the first one, of which this holds.
    std::uint32_t final_rounds() const noexcept { return final_rounds_; }
    /// There is a model, once `advance` has succeeded: a state of this program, in which a member's own tensors are of no
    /// meaning.
    const kernels::Program& program() const { return plan_->states(); }
    const kernels::State& state() const { return follower_->state(); }

private:
    struct Anchor {
        std::uint32_t base = 0;
        std::vector<Hash32> shared;
    };
    /// What one block shows.
    struct Seen {
        std::optional<market::TaskSpec> spec;
        std::optional<market::GroupSpec> terms;
        std::uint32_t round = 0;                               ///< The first one without a record.
        std::vector<solver::RecordView> records;               ///< From the follower's base on.
        std::optional<Anchor> anchor;                          ///< The newest final state that is open.
        std::vector<std::pair<std::uint32_t, Anchor>> checks;  ///< By run: final states with bases of `records`.
        std::uint32_t final_rounds = 0;
        std::uint8_t attempt = 0;  ///< Number of rollbacks (contracts 21.14).
        bool undone = false;       ///< One of them has undone a record that the follower has taken in.
        std::vector<std::string> peers;
        RunPeers authors;  ///< Of the records' messages.
    };
    Result<bool> take_in_all(Seen seen, const OpenStore& open_store);
    Seen read(const ledger::StateView& state, Immutable& immutable) const;
    Status<> begin(const Seen& seen, solver::ArtifactSource& source);
    Status<> take_in(const solver::RecordView& record, solver::ArtifactSource& source);
    Status<> check(const Seen& seen) const;

    ChainReader& chain_;
    std::uint64_t task_;
    const solver::RunnerFactory runners_;
    kernels::ThreadPool pool_;
    std::unique_ptr<solver::CommittedPlan> plan_;
    std::optional<solver::GroupFollower> follower_;
    std::optional<std::string> refused_;  ///< Why the records lead to another model; nothing is followed then.
    std::uint32_t final_rounds_ = 0;
    std::uint8_t attempt_ = 0;  ///< The rollbacks that the follower's records know of.
};

}  // namespace retrace::node
