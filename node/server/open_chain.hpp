// SPDX-License-Identifier: MIT
// From a data directory to its chain: what `retrace node`, its --verify-db and `retrace snapshot` have in
// common.
#pragma once

#include <memory>

#include "ledger/chain/chain.hpp"
#include "node/platform/data_dir.hpp"
#include "node/server/config/config.hpp"
#include "node/server/node.hpp"

namespace retrace::node {

/// The genesis that the folder was begun with; a new folder takes the one that is asked for and keeps it.
Result<ledger::Genesis> settle_genesis(const Config& config, const Rules& rules, const DataDir& data);

Result<std::unique_ptr<ledger::Store>> open_store(const DataDir& data);

/// Windows as the configuration names them.
ledger::ChainOptions chain_options(const Config& config);

}  // namespace retrace::node
