// SPDX-License-Identifier: MIT
// Opens the chain of a data directory: shared by `retrace node`, its --verify-db and `retrace snapshot`.
#pragma once

#include <memory>

#include "ledger/chain/chain.hpp"
#include "node/platform/data_dir.hpp"
#include "node/server/config/config.hpp"
#include "node/server/node.hpp"

namespace retrace::node {

/// The genesis that the data directory was created with. A new directory stores the configured one. An Error if none is
/// configured for a new directory, or if the configured one differs from the stored one.
Result<ledger::Genesis> open_genesis(const Config& config, const Rules& rules, const DataDir& data);

Result<std::unique_ptr<ledger::Store>> open_store(const DataDir& data);
/// The store of rpc::AuctionIndex, which may be deleted: only reasons of ended auctions are lost then.
Result<std::unique_ptr<ledger::Store>> open_auctions(const DataDir& data);

/// The state and block windows that the configuration sets.
ledger::ChainOptions chain_options(const Config& config);

}  // namespace retrace::node
