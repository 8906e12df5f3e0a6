// SPDX-License-Identifier: MIT
// eth_call and eth_estimateGas: calls without lasting effect.
#include <algorithm>

#include "ledger/chain/execute.hpp"

namespace retrace::ledger {
namespace {

std::uint64_t intrinsic_of(const SimulatedCall& call) {
    Transaction tx;
    tx.data = call.data;
    tx.access_list = call.access_list;
    return intrinsic_gas(tx);
}

/// Smallest possible size of a transaction with this call.
std::size_t least_bytes(const SimulatedCall& call) {
    std::size_t out = call.data.size();
    for (const AccessEntry& entry : call.access_list) out += sizeof(Address) + entry.keys.size() * Hash32::size();
    return out;
}

std::optional<TxRefusal> refuse(const SimulatedCall& call, const StateView& view, std::uint64_t gas,
                                std::uint64_t intrinsic) {
    if (!call.to) return TxRefusal{TxError::creation_not_supported, "contract creation is not supported: no EVM"};
    // A call may not cost more than a transaction may cost a block.
    if (const std::size_t bytes = least_bytes(call); bytes > kTxBytesMax) {
        return TxRefusal{TxError::oversized, "oversized data: transaction size " + std::to_string(bytes) + ", limit " +
                                                 std::to_string(kTxBytesMax)};
    }
    if (gas < intrinsic) {
        return TxRefusal{TxError::intrinsic_gas_too_low, "intrinsic gas too low: gas " + std::to_string(gas) +
                                                             ", minimum needed " + std::to_string(intrinsic)};
    }
    const U256 balance = call.value.is_zero() ? U256() : balance_of(view, call.from);
    if (balance < call.value) {
        return TxRefusal{TxError::insufficient_funds, "insufficient funds for transfer: have " + balance.to_decimal() +
                                                          " wei, need " + call.value.to_decimal() + " wei"};
    }
    return std::nullopt;
}

}  // namespace

Simulated simulate(const SimulatedCall& call, const StateView& view, const BlockContext& block, std::uint64_t gas_limit,
                   const TxExecutor& executor) {
    const std::uint64_t gas = call.gas == 0 ? gas_limit : std::min(call.gas, gas_limit);
    const std::uint64_t intrinsic = intrinsic_of(call);
    Simulated out;
    out.refusal = refuse(call, view, gas, intrinsic);
    if (out.refusal) return out;
    out.result.ok = true;
    if (executor.is_contract(*call.to)) {
        out.result = executor.view_call(
            view, block,
            Call{.sender = call.from, .to = *call.to, .value = call.value, .data = call.data, .gas = gas - intrinsic});
    }
    out.result.gas_used += intrinsic;
    return out;
}

GasEstimate estimate_gas(SimulatedCall call, const StateView& view, const BlockContext& block, std::uint64_t gas_limit,
                         const TxExecutor& executor) {
    GasEstimate out;
    out.run = simulate(call, view, block, gas_limit, executor);
    if (!out.ok()) return out;
    // The gas used is usually enough. Bisection finds the limit for a rule that needs more in reserve than it uses.
    std::uint64_t low = out.run.result.gas_used;
    std::uint64_t high = call.gas == 0 ? gas_limit : std::min(call.gas, gas_limit);
    for (std::uint64_t guess = low; low < high; guess = low + (high - low) / 2) {
        call.gas = guess;
        const Simulated run = simulate(call, view, block, gas_limit, executor);
        if (!run.refusal && run.result.ok) {
            high = guess;
        } else {
            low = guess + 1;
        }
    }
    out.gas = high;
    return out;
}

}  // namespace retrace::ledger
