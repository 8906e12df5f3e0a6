// SPDX-License-Identifier: MIT
// Whether a receipt says what the ledger says, and whether its states follow from each other.
#pragma once

#include <functional>

#include "ledger/state/view.hpp"
#include "market/types.hpp"
#include "node/artifacts/client.hpp"
#include "node/artifacts/receipt.hpp"

namespace retrace::node {

struct CheckedReceipt {
    std::vector<market::Run> runs;         ///< Whose states were delivered, the last one first (`delivered_runs`).
    std::uint64_t states = 0, audits = 0;  ///< Found on the ledger as the receipt has them.
    /// Of the segments between its states: an audit of theirs matched; none was drawn; they were drawn and nobody
    /// audited them, so that the requester paid for them all the same.
    std::uint64_t verified = 0, not_drawn = 0, unaudited = 0;
    std::uint64_t auditors = 0;            ///< Verdicts that matched.
};
/// Compares every field that the ledger keeps; the error names the first that differs. Heights of events
/// (settlement and verdicts) are not part of the state and stay the node's word. States and audits are those of the
/// runs that were delivered, of no other. Of a ProvenState the caller looks at `failure` before it believes either.
Result<CheckedReceipt> check_receipt(const Receipt& receipt, const ledger::StateView& state);
/// Error that names the first segment without a verdict among those that the task's terms promise to audit: the first
/// of each of these runs, the last of the task, and all that were drawn. Whatever states the receipt leaves out: it
/// asks the ledger about each segment of the task. After `check_receipt`, of the same receipt and state.
Status<> require_audits(const CheckedReceipt& checked, const Receipt& receipt, const ledger::StateView& state);

struct StepLoss {
    std::uint64_t step = 0;
    float loss = 0;
};
/// Fetches the state before `segment` (counted in the receipt's states), trains to the next and compares
/// roots. What the program reported as "loss" on the way, step by step: this machine's own figures, of the
/// very steps that end in the receipt's state.
Result<std::vector<StepLoss>> replay_segment(const Receipt& receipt, std::size_t segment,
                                             const std::vector<std::string>& peers, Store& store,
                                             ArtifactClient& fetcher);

}  // namespace retrace::node
