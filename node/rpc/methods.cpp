// SPDX-License-Identifier: MIT
#include "node/rpc/methods.hpp"

namespace retrace::node::rpc {

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
    register_retrace_audits(router, backend);
    register_retrace_parties(router, backend);
    register_retrace_explain(router, backend);
    router.add(
        {"rpc.discover",
         "This document.",
         {},
         "Object",
         [&router, &backend](const Params&, Caller&) -> Answer { return openrpc(router, backend.version); }});
}

}  // namespace retrace::node::rpc
