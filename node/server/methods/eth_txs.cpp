// SPDX-License-Identifier: MIT
// Methods that send and find transactions.
#include "node/server/methods/eth_json.hpp"
#include "node/server/methods/methods.hpp"
#include "node/server/methods/system_tx.hpp"

namespace retrace::node::rpc {
namespace {

Answer send_raw(const Backend& backend, const Params& params) {
    RETRACE_TRY(raw, params.data(0));
    const auto sent = backend.application.submit(raw);
    if (!sent) return server_error(sent.error().message);
    return json::value(data(*sent));
}

/// JSON of a mined transaction; null if its block was pruned since the record was read.
json::value mined_json(const Backend& backend, const ledger::TxRecord& record) {
    const auto header = backend.chain.header(record.height);
    if (!header) return nullptr;
    const TxPlace place{ledger::block_hash(*header), record.height, record.index, record.receipt.effective_gas_price};
    return tx_json(record.tx, &place);
}

Answer get_tx(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(hash, params.hash(0));
    if (const auto record = backend.chain.tx(hash)) return mined_json(backend, *record);
    if (const auto pending = backend.pool.find(hash)) return json::value(tx_json(*pending, nullptr));
    // It may have moved from the pool into a block between the two lookups.
    if (const auto record = backend.chain.tx(hash)) return mined_json(backend, *record);
    RETRACE_TRY(block, find_system_tx(backend, caller, hash));
    return block ? json::value(system_tx_json(*block, backend.chain_id())) : json::value(nullptr);
}

Answer get_receipt(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(hash, params.hash(0));
    const auto record = backend.chain.tx(hash);
    if (!record) {
        RETRACE_TRY(block, find_system_tx(backend, caller, hash));
        return block ? json::value(system_receipt_json(*block)) : json::value(nullptr);
    }
    const auto header = backend.chain.header(record->height);
    if (!header) return json::value(nullptr);  // pruned meanwhile
    return json::value(receipt_json(
        record->tx, record->receipt,
        {ledger::block_hash(*header), record->height, header->time_s(), record->index, record->first_log_index}));
}

}  // namespace

void register_eth_txs(Router& router, const Backend& backend) {
    router.add({.name = "eth_sendRawTransaction",
                .summary = "Takes a signed transaction; its hash.",
                .params = {{"transaction", "Data"}},
                .result = "Hash",
                .handler = [&backend](const Params& params, Caller&) { return send_raw(backend, params); },
                .mutates_state = true});
    router.add({"eth_getTransactionByHash",
                "A transaction, mined or pending.",
                {{"hash", "Hash"}},
                "Transaction?",
                [&backend](const Params& params, Caller& caller) { return get_tx(backend, params, caller); }});
    router.add({"eth_getTransactionReceipt",
                "Receipt of a mined transaction.",
                {{"hash", "Hash"}},
                "Receipt?",
                [&backend](const Params& params, Caller& caller) { return get_receipt(backend, params, caller); }});
}

}  // namespace retrace::node::rpc
