// SPDX-License-Identifier: MIT
// retrace_status and retrace_contracts.
#include <boost/json/parse.hpp>

#include "node/server/methods/methods.hpp"

namespace retrace::node::rpc {
namespace {

json::value status(const Backend& backend) {
    const auto tip = backend.chain.tip();
    const engine::EngineStatus engine = backend.engine.status();
    const ledger::PoolStats pool = backend.pool.stats();
    json::object out{{"version", backend.version},
                     {"chain_id", backend.chain_id()},
                     {"engine", backend.engine.name()},
                     {"height", tip->header.height},
                     {"block_hash", data(tip->hash)},
                     {"block_time", tip->header.time_s()},
                     {"app_hash", data(tip->hash)},
                     {"genesis_hash", data(backend.application.info().genesis_hash)},
                     {"oldest_state", backend.chain.oldest_state()},
                     {"oldest_proof", backend.chain.oldest_proof()},
                     {"oldest_block", backend.chain.oldest_block()},
                     {"syncing", engine.catching_up},
                     {"peers", engine.peers},
                     {"stalled", engine.stalled},
                     {"halted", engine.halted},
                     {"pool", json::object{{"pending", pool.pending}, {"queued", pool.queued}, {"bytes", pool.bytes}}}};
    if (engine.halted) out["reason"] = engine.reason;
    return out;
}

json::value contracts(const Backend& backend) {
    json::array out;
    for (const ContractInfo& contract : backend.contracts) {
        out.push_back(json::object{
            {"name", contract.name}, {"address", data(contract.address)}, {"abi", json::parse(contract.abi)}});
    }
    return out;
}

}  // namespace

void register_retrace_status(Router& router, const Backend& backend) {
    router.add({"retrace_status",
                "Height, engine, pool and versions of this node.",
                {},
                "Status",
                [&backend](const Params&, Caller&) -> Answer { return status(backend); }});
    router.add({"retrace_contracts",
                "Names, addresses and ABI of the native contracts.",
                {},
                "Contract[]",
                [&backend](const Params&, Caller&) -> Answer { return contracts(backend); }});
}

}  // namespace retrace::node::rpc
