// SPDX-License-Identifier: MIT
// Answers the ABCI of a CometBFT that fetches a snapshot for an empty ledger (state sync).
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>

#include "ledger/snapshot/snapshot.hpp"
#include "node/server/comet/abci_server.hpp"
#include "node/server/comet/version.hpp"

namespace retrace::node::engine {

struct SnapshotReceiverOptions {
    CometLine line = CometLine::v0_38;  ///< Versions of CometBFT that it may be run by.
    /// CometBFT has stored what it needs to go on from the snapshot, and so has the ledger. Called once.
    std::function<void(const ledger::Imported&)> on_done;
    std::function<void(const std::string&)> on_fatal;  ///< The node cannot go on.
};

/// CometBFT offers snapshots whose app hash its light client has verified, and brings their parts. The app hash is the
/// hash of the snapshot's block, so that nothing that a peer says is believed beyond it. A peer that brought a part of a
/// snapshot whose state is wrong is not asked again.
class SnapshotReceiver {
public:
    /// `store`, `genesis` and `executor` outlive the receiver. The store holds no chain.
    SnapshotReceiver(ledger::Store& store, const ledger::Genesis& genesis, const ledger::TxExecutor& executor,
                     SnapshotReceiverOptions options)
        : store_(store), genesis_(genesis), executor_(executor), options_(std::move(options)) {}

    /// Thread-safe.
    AbciAnswer answer(View request);
    /// CometBFT has ended and will be started from nothing: what it brought is forgotten, also if a request of it is
    /// still to be answered. False if the ledger has its snapshot already. Thread-safe.
    bool begin_again();

private:
    struct Calls;

    ledger::Store& store_;
    const ledger::Genesis& genesis_;
    const ledger::TxExecutor& executor_;
    const SnapshotReceiverOptions options_;
    std::mutex mutex_;  // guards the members below
    std::optional<ledger::SnapshotImport> import_;
    ledger::Header header_;          // of the snapshot that is imported
    std::set<std::string> senders_;  // of its parts
    bool done_ = false;
};

}  // namespace retrace::node::engine
