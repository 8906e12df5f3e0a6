// SPDX-License-Identifier: MIT
// The engine of many operators: CometBFT decides the blocks, in a child process that reaches the application over ABCI.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "node/server/comet/gossip.hpp"
#include "node/server/comet/home.hpp"
#include "node/server/engine/engine.hpp"

namespace retrace::node::engine {

class SnapshotProvider;

struct CometOptions {
    CometHome home;
    ledger::Genesis genesis;
    std::string program;                              ///< Executable of CometBFT; empty: it is looked for.
    std::uint64_t keep_blocks = 0;                    ///< CometBFT deletes older blocks; 0: it keeps all.
    SnapshotProvider* snapshots = nullptr;            ///< Outlives the engine; nullptr: this node offers none.
    PendingTxs pending;                               ///< Called from a thread of the engine.
    std::function<void(const std::string&)> on_halt;  ///< Called once, from a thread of the engine.
};

class CometEngine final : public Engine {
public:
    explicit CometEngine(CometOptions options);
    ~CometEngine() override;

    std::string_view name() const noexcept override { return "comet"; }
    /// Returns when CometBFT has replayed its blocks and answers. Errors: no executable, a folder of another chain or of
    /// the embedded engine, and whatever makes CometBFT end at once.
    Status<> start(Application& application) override;
    void stop() noexcept override;
    void announce(View tx) override;
    EngineStatus status() const override;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace retrace::node::engine
