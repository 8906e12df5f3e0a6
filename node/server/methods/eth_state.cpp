// SPDX-License-Identifier: MIT
#include "node/server/methods/methods.hpp"

namespace retrace::node::rpc {
namespace {

/// PUSH1 0 PUSH1 0 REVERT: non-empty, so that wallets recognise a contract; a simulator that runs it reverts cleanly.
constexpr const char* kNativeCode = "0x60006000fd";
constexpr const char* kZeroWord = "0x0000000000000000000000000000000000000000000000000000000000000000";

Answer get_balance(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(address, params.address(0));
    RETRACE_TRY(ref, params.block(1));
    RETRACE_TRY(state, state_at(backend, caller, ref));
    return json::value(quantity(state.view->account(address).balance));
}

Answer get_tx_count(const Backend& backend, const Params& params, Caller& caller) {
    RETRACE_TRY(address, params.address(0));
    RETRACE_TRY(ref, params.block(1));
    if (ref.kind == BlockRef::Kind::pending) {
        // Counts transactions in the mempool, so that parallel senders do not reuse a nonce.
        return json::value(quantity(backend.pool.pending_nonce(address, *backend.chain.view())));
    }
    RETRACE_TRY(state, state_at(backend, caller, ref));
    return json::value(quantity(state.view->account(address).nonce));
}

Answer get_code(const Backend& backend, const Params& params) {
    RETRACE_TRY(address, params.address(0));
    RETRACE_TRY(ref, params.block(1));
    RETRACE_CHECK(known_height(backend, ref));
    return json::value(backend.chain.executor().is_contract(address) ? kNativeCode : "0x");
}

/// Always returns zero: slots of native contracts are byte strings with byte keys (retrace_getSlots), not words.
Answer get_storage_at(const Backend& backend, const Params& params) {
    RETRACE_CHECK(params.address(0));
    if (!params.at(1).is_string()) return invalid_argument(1, "not a hex string");
    RETRACE_TRY(ref, params.block(2));
    RETRACE_CHECK(known_height(backend, ref));
    return json::value(kZeroWord);
}

}  // namespace

void register_eth_state(Router& router, const Backend& backend) {
    const ParamInfo address{"address", "Address"};
    const ParamInfo block{"block", "BlockTag", false};
    router.add({"eth_getBalance",
                "Balance of an account.",
                {address, block},
                "Quantity",
                [&backend](const Params& params, Caller& caller) { return get_balance(backend, params, caller); }});
    router.add({"eth_getTransactionCount",
                "Nonce of an account.",
                {address, block},
                "Quantity",
                [&backend](const Params& params, Caller& caller) { return get_tx_count(backend, params, caller); }});
    router.add({"eth_getCode",
                "A marker for native contracts, otherwise 0x.",
                {address, block},
                "Data",
                [&backend](const Params& params, Caller&) { return get_code(backend, params); }});
    router.add({"eth_getStorageAt",
                "Always 32 zero bytes; see retrace_getSlots.",
                {address, {"position", "Quantity"}, block},
                "Data",
                [&backend](const Params& params, Caller&) { return get_storage_at(backend, params); }});
}

}  // namespace retrace::node::rpc
