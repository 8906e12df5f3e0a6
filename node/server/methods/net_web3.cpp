// SPDX-License-Identifier: MIT
// net_*, web3_*, and the eth_* methods about the node itself.
#include "ledger/crypto/keccak.hpp"
#include "node/server/methods/methods.hpp"

namespace retrace::node::rpc {

void register_net_web3(Router& router, const Backend& backend) {
    router.add({"net_version", "Chain id in decimal.", {}, "Text", [&backend](const Params&, Caller&) -> Answer {
                    return json::value(std::to_string(backend.chain_id()));
                }});
    router.add({"net_listening", "Always true.", {}, "Boolean", [](const Params&, Caller&) -> Answer {
                    return json::value(true);
                }});
    router.add({"web3_clientVersion", "Name and version.", {}, "Text", [&backend](const Params&, Caller&) -> Answer {
                    return json::value("retrace/v" + backend.version);
                }});
    router.add({"web3_sha3", "Keccak-256.", {{"data", "Data"}}, "Hash", [](const Params& params, Caller&) -> Answer {
                    RETRACE_TRY(bytes, params.data(0));
                    return json::value(data(ledger::keccak256(bytes)));
                }});
    router.add({"eth_chainId", "Chain id.", {}, "Quantity", [&backend](const Params&, Caller&) -> Answer {
                    return json::value(quantity(backend.chain_id()));
                }});
    router.add({"eth_accounts", "Empty: the node holds no keys.", {}, "Empty", [](const Params&, Caller&) -> Answer {
                    return json::value(json::array());
                }});
    router.add(
        {"eth_syncing",
         "Whether the node is behind its chain and catches up.",
         {},
         "Boolean",
         [&backend](const Params&, Caller&) -> Answer { return json::value(backend.engine.status().catching_up); }});
}

}  // namespace retrace::node::rpc
