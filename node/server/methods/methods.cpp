// SPDX-License-Identifier: MIT
#include "node/server/methods/methods.hpp"

namespace retrace::node::rpc {
namespace {

/// Methods of cost `light`: one lookup in memory or in the database, or (eth_sendRawTransaction) one signature check
/// and an insertion into the pool. eth_subscribe needs no lookup.
constexpr const char* kLight[] = {"eth_accounts",
                                  "eth_blockNumber",
                                  "eth_chainId",
                                  "eth_gasPrice",
                                  "eth_getBalance",
                                  "eth_getCode",
                                  "eth_getStorageAt",
                                  "eth_getTransactionCount",
                                  "eth_subscribe",
                                  "eth_maxPriorityFeePerGas",
                                  "eth_sendRawTransaction",
                                  "eth_syncing",
                                  "eth_unsubscribe",
                                  "net_listening",
                                  "net_version",
                                  "web3_clientVersion"};

/// Methods of cost `brief`. A transaction has 128 KiB at most. A call of a native contract reads a few slots and lists
/// of bounded length; a call that computes more (a dispute's last move, a proof of capability) takes its data as
/// arguments, which do not fit a small request.
constexpr const char* kBrief[] = {"eth_call", "eth_getTransactionByHash", "eth_getTransactionReceipt"};

}  // namespace

void register_methods(Router& router, const Backend& backend) {
    register_net_web3(router, backend);
    register_eth_blocks(router, backend);
    register_eth_state(router, backend);
    register_eth_call(router, backend);
    register_eth_txs(router, backend);
    register_eth_fees(router, backend);
    register_eth_logs(router, backend);
    register_eth_subscribe(router, backend);
    register_retrace_status(router, backend);
    register_retrace_state(router, backend);
    register_retrace_tasks(router, backend);
    register_retrace_groups(router, backend);
    register_retrace_audits(router, backend);
    register_retrace_parties(router, backend);
    register_retrace_explain(router, backend);
    for (const char* name : kLight) router.set_cost(name, RequestCost::light);
    for (const char* name : kBrief) router.set_cost(name, RequestCost::brief);
    weigh_system_txs(router, backend);
}

}  // namespace retrace::node::rpc
