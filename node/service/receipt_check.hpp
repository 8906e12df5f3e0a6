// SPDX-License-Identifier: MIT
// Whether a receipt says what the ledger says, and whether its states follow from each other.
#pragma once

#include <functional>

#include "node/artifacts/client.hpp"
#include "node/artifacts/receipt.hpp"
#include "node/service/proven_state.hpp"

namespace retrace::node {

struct CheckedReceipt {
    std::uint64_t states = 0, audits = 0;  ///< Found on the ledger as the receipt has them.
};
/// Compares every field that the ledger keeps; the error names the first that differs. Heights of events
/// (settlement and verdicts) are not part of the state and stay the node's word.
Result<CheckedReceipt> check_receipt(const Receipt& receipt, const ProvenState& state);

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
