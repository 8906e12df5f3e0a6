// SPDX-License-Identifier: MIT
// Fills an empty ledger with a snapshot of other nodes instead of executing all past blocks (CometBFT's state sync).
#pragma once

#include <string>

#include "ledger/snapshot/snapshot.hpp"
#include "node/server/comet/home.hpp"

namespace retrace::node::engine {

/// Whether the store holds no chain, or what an interrupted import has left.
bool wants_state_sync(const ledger::Store& store);

/// To be called when no synchronisation is wanted: an Error if one was interrupted in this home.
Status<> end_state_sync(const CometHome& home, const ledger::Store& store);

/// Runs CometBFT with `home`, whose `sync` says whom to ask, until the store holds a chain from which the engine goes
/// on. CometBFT runs without its validator's key, and what an interrupted attempt has left is removed; the key, and the
/// record of what it has signed, are kept. `program` is its executable; empty: it is looked for. Errors: no executable,
/// a home with blocks from which the ledger can be made, and whatever makes CometBFT give up. It waits without end for a
/// node that offers a snapshot, and says so in the log.
Status<> sync_state(CometHome home, const std::string& program, ledger::Store& store, const ledger::Genesis& genesis,
                    const ledger::TxExecutor& executor);

}  // namespace retrace::node::engine
