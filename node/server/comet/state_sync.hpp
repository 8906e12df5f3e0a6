// SPDX-License-Identifier: MIT
// Fills an empty ledger with a snapshot of other nodes instead of executing all past blocks (CometBFT's state sync).
#pragma once

#include <string>

#include "ledger/snapshot/snapshot.hpp"
#include "node/server/comet/home.hpp"

namespace retrace::node::engine {

/// Whether the store holds no chain, or what an interrupted import has left.
bool wants_state_sync(const ledger::Store& store);

/// Runs CometBFT with `home`, whose `sync` says whom to ask, until the store holds a chain from which the engine goes
/// on. All of CometBFT's blocks in the home are removed first; its keys, and what its validator has signed, are kept.
/// `program` is its executable; empty: it is looked for. Errors: no executable, and whatever makes CometBFT give up. It
/// waits without end for a node that offers a snapshot, and says so in the log.
Status<> sync_state(const CometHome& home, const std::string& program, ledger::Store& store,
                    const ledger::Genesis& genesis, const ledger::TxExecutor& executor);

}  // namespace retrace::node::engine
