// SPDX-License-Identifier: MIT
// Checks a receipt against the ledger, and replays its segments.
#pragma once

#include <functional>

#include "ledger/state/view.hpp"
#include "market/types.hpp"
#include "node/agents/group_receipt.hpp"
#include "node/artifacts/client.hpp"
#include "node/artifacts/receipt.hpp"
#include "solver/agent/task_cache.hpp"

namespace retrace::node {

struct CheckedReceipt {
    std::vector<market::Run> runs;         ///< Runs whose states were delivered, the last first (`delivered_runs`).
    std::uint64_t states = 0, audits = 0;  ///< Entries of the receipt that the ledger confirms.
    /// Segments between the receipt's states: with a matching audit; not drawn; drawn without an audit, so that the
    /// requester paid for them unaudited.
    std::uint64_t verified = 0, not_drawn = 0, unaudited = 0;
    std::uint64_t auditors = 0;  ///< Verdicts that matched.
    /// Of a training in rounds. `verified`, `not_drawn` and `unaudited` then count the final segments of all members,
    /// and `auditors` the verdicts about the one that delivered.
    std::optional<GroupFacts> group;
};
/// A sentence for a model, or a part of it, that rests on its solver's word although the terms promise audits; empty if
/// none does.
std::string not_audited(const CheckedReceipt& checked);
/// A sentence for a model whose members trained on data of their own: which part nobody, or only whom they chose, checked;
/// empty for others.
std::string private_part(const GroupFacts& group);
/// Compares every field that the ledger keeps; the error names the first that differs. Heights of events (settlement
/// and verdicts) are not part of the state, so they rest on the node's word. States and audits are compared with the
/// delivered runs only. With a ProvenState the caller must check `failure` before it uses either result.
Result<CheckedReceipt> check_receipt(const Receipt& receipt, const ledger::StateView& state);
/// Fails at the first segment without a verdict among those that the task's terms promise to audit: the first of each
/// of these runs, the last of the task, and all that were drawn. It asks the ledger about each segment of the task, so
/// a receipt cannot hide one by leaving out states. Of a training in rounds it asks about those of every member. Call it after `check_receipt`, with the same receipt and state.
Status<> require_audits(const CheckedReceipt& checked, const Receipt& receipt, const ledger::StateView& state);

struct StepLoss {
    std::uint64_t step = 0;
    float loss = 0;
};
/// A segment that this machine has trained again.
struct Replayed {
    /// What the program reported at each step: this machine's own figures for the steps that end in the state.
    std::vector<StepLoss> losses;
    Hash32 root;           ///< Of the state in which the segment ends here.
    bool matches = false;  ///< Whether it is the receipt's.
};
/// Names the segment, both roots and what the requester can do about them.
std::string contradiction(const Receipt& receipt, std::size_t segment, const Replayed& replayed);
/// Fetches the state before `segment` (counted in the receipt's states), trains to the next by a runner of `runners` and
/// compares roots. Fails if the segment cannot be replayed, which says nothing about the receipt.
Result<Replayed> replay_segment(const Receipt& receipt, std::size_t segment, const std::vector<std::string>& peers,
                                Store& store, ArtifactClient& fetcher, const solver::RunnerFactory& runners);

}  // namespace retrace::node
