// SPDX-License-Identifier: MIT
// The families of methods. Each registers its own with handlers that hold a reference to the backend.
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
void register_retrace_audits(Router& router, const Backend& backend);
void register_retrace_parties(Router& router, const Backend& backend);
void register_retrace_explain(Router& router, const Backend& backend);

inline constexpr std::size_t kOverridesMax = 256;  ///< Accounts whose state one call may override.

/// Of the methods that take the hash of a transaction: they are brief, but for the hash of a block, which is
/// read.
void weigh_system_txs(Router& router, const Backend& backend);

/// All of the above.
void register_methods(Router& router, const Backend& backend);

}  // namespace retrace::node::rpc
