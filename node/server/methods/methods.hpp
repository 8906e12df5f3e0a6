// SPDX-License-Identifier: MIT
// Registration of the families of methods. The handlers hold a reference to the backend.
#pragma once

#include "node/server/jsonrpc/router.hpp"
#include "node/server/methods/backend.hpp"

namespace retrace::node::rpc {

void register_net_web3(Router& router, const Backend& backend);
void register_eth_blocks(Router& router, const Backend& backend);
void register_eth_state(Router& router, const Backend& backend);
void register_eth_call(Router& router, const Backend& backend);
void register_eth_txs(Router& router, const Backend& backend);
void register_eth_fees(Router& router, const Backend& backend);
void register_eth_logs(Router& router, const Backend& backend);
void register_eth_subscribe(Router& router, const Backend& backend);
void register_retrace_status(Router& router, const Backend& backend);
void register_retrace_state(Router& router, const Backend& backend);
void register_retrace_tasks(Router& router, const Backend& backend);
void register_retrace_groups(Router& router, const Backend& backend);
void register_retrace_audits(Router& router, const Backend& backend);
void register_retrace_parties(Router& router, const Backend& backend);
void register_retrace_explain(Router& router, const Backend& backend);

inline constexpr std::size_t kOverridesMax = 256;  ///< Accounts whose state one call may override.

/// Sets the cost of the methods that take a transaction hash: brief, but heavy for the hash of a block, because that
/// block is read.
void weigh_system_txs(Router& router, const Backend& backend);

/// Registers all of the above and sets their costs.
void register_methods(Router& router, const Backend& backend);

}  // namespace retrace::node::rpc
