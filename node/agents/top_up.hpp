// SPDX-License-Identifier: MIT
// A requester adds to the escrow of its open task.
#pragma once

#include "node/agents/chain_reader.hpp"
#include "node/agents/submitter.hpp"

namespace retrace::node {

struct ToppedUp {
    ledger::U256 ceiling;        ///< That the task's next auctions have at least, for a segment.
    std::uint32_t auctions = 0;  ///< That may follow ones without winners, those of its terms included.
    ledger::U256 amount;         ///< What was put into escrow,
    ledger::U256 rent;           ///< and added to the deposit of its place, so that these auctions can come.
};

/// `ceiling`: none keeps that of the next auction. Errors are sentences: an unknown task, one in another state, a ceiling below the present one,
/// more auctions than a task may have, and the refusals of contracts 12.10.
Result<ToppedUp> top_up_task(Submitter& submitter, ChainReader& chain, std::uint64_t task,
                             const std::optional<ledger::U256>& ceiling, std::uint32_t auctions);

}  // namespace retrace::node
