// SPDX-License-Identifier: MIT
// Turns requests of ABCI into calls of the application, and what it returns into answers.
#pragma once

#include <functional>
#include <string>

#include "node/server/comet/abci_server.hpp"
#include "node/server/comet/version.hpp"
#include "node/server/engine/engine.hpp"

namespace retrace::node::engine {

class SnapshotProvider;

struct AbciCallsOptions {
    std::string chain_id;                   ///< CometBFT's name of the chain.
    CometLine line = CometLine::v0_38;      ///< Versions of CometBFT that it may be run by.
    std::uint64_t keep_blocks = 0;          ///< CometBFT may delete blocks below the tip less these; 0: it keeps all.
    SnapshotProvider* snapshots = nullptr;  ///< Outlives the calls; nullptr: this node offers none.
    std::function<void(Height)> on_commit;
    std::function<void(const std::string&)> on_fatal;  ///< The node cannot go on with this chain.
};

class AbciCalls {
public:
    /// `application` outlives the calls.
    AbciCalls(Application& application, AbciCallsOptions options)
        : application_(application), options_(std::move(options)) {}

    /// One request and its answer. Thread-safe for requests of different connections.
    AbciAnswer answer(View request);

    /// The transaction that CheckTx brought on the calling thread, while the application looks at it; otherwise empty.
    static View arriving() noexcept;

private:
    Application& application_;
    AbciCallsOptions options_;
};

}  // namespace retrace::node::engine
