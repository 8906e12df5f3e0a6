// SPDX-License-Identifier: MIT
// The composition root: one data directory, one chain, one engine, one port.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ledger/chain/chain.hpp"
#include "node/server/config/config.hpp"
#include "node/server/config/genesis_file.hpp"
#include "node/server/engine/application.hpp"
#include "node/server/engine/engine.hpp"
#include "node/server/http/server.hpp"
#include "node/server/jsonrpc/router.hpp"
#include "node/server/methods/backend.hpp"

namespace retrace::node {

inline constexpr const char* kVersion = "0.1.0";

/// The rules that a node executes. Tests bring their own.
struct Rules {
    std::unique_ptr<ledger::TxExecutor> executor;
    std::vector<rpc::ContractInfo> contracts;
    Bytes dev_genesis;               ///< The contracts' genesis section of a developer chain.
    EncodeContracts encode_genesis;  ///< Encodes the "contracts" section of a genesis file.
    /// Transactions and scheduled items that this process has undone because an invariant broke (contracts 8.3). A
    /// block that is executed several times counts each time.
    std::shared_ptr<std::atomic<std::uint64_t>> broken_invariants = std::make_shared<std::atomic<std::uint64_t>>(0);
};

class Node {
public:
    /// Locks the data directory, fetches a snapshot if the configuration says so and there is no chain, opens the chain,
    /// builds engine and server. Serves nothing yet.
    static Result<std::unique_ptr<Node>> open(const Config& config, Rules rules);
    ~Node();

    // Called between `open` and `start`, by other parts of the program that extend the node.
    rpc::Router& router() noexcept;
    const rpc::Backend& backend() const noexcept;
    void route(HttpRoute route);
    /// See rpc::Server::page.
    void page(HttpHandler handler);
    LedgerApplication& application() noexcept;

    /// Replays the decided blocks, then makes blocks and serves. Returns the port.
    Result<std::uint16_t> start();
    /// Stops the engine, then the server. Idempotent.
    void stop() noexcept;

    ledger::Chain& chain() noexcept;
    const ledger::Genesis& genesis() const noexcept;
    engine::EngineStatus status() const;
    const Config& config() const noexcept;
    /// PEM file of the certificate that the port presents; empty without TLS.
    const std::string& certificate() const noexcept;

private:
    struct Impl;
    explicit Node(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

/// Replays the whole chain of a data directory in memory and compares the results. Calls `progress` for every height.
Status<> verify_data(const Config& config, const Rules& rules,
                     const std::function<void(std::uint64_t height)>& progress);

}  // namespace retrace::node
