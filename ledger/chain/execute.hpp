// SPDX-License-Identifier: MIT
// Executes a block's transactions on a state; pure, without storage. SPEC 5.3.
#pragma once

#include "ledger/chain/block_input.hpp"
#include "ledger/exec/executor.hpp"
#include "ledger/tx/admit.hpp"

namespace retrace::ledger {

/// Decodes all transactions and recovers their senders on `threads` threads (0: one per hardware thread). The result
/// does not depend on the number of threads. Bytes that are not a valid transaction of this chain are returned without
/// `tx`.
std::vector<BlockTx> read_txs(const BlockInput& input, std::uint64_t chain_id, unsigned threads);

struct ExecutedTxs {
    std::vector<Receipt> receipts;
    std::vector<Log> system_logs;
    Bloom bloom{};
    std::uint64_t gas_used = 0;
};
/// Takes note of the engine's report, runs begin_block and the transactions in order on `state`. `block.base_fee` is that
/// of this block.
ExecutedTxs execute_txs(State& state, const BlockContext& block, std::uint64_t gas_limit, const TxExecutor& executor,
                        const EngineReport& report, std::span<const BlockTx> txs);

/// A call without a transaction, for eth_call and eth_estimateGas: no nonce, no fee, nothing written.
struct SimulatedCall {
    Address from;
    std::optional<Address> to;
    U256 value;
    Bytes data;
    std::vector<AccessEntry> access_list = {};  ///< Charged as in a transaction.
    std::uint64_t gas = 0;                      ///< 0: the gas limit of a block.
};
struct Simulated {
    CallResult result;                 ///< gas_used includes the intrinsic gas.
    std::optional<TxRefusal> refusal;  ///< The call could not be a transaction at all; `result` is meaningless then.
};
/// Calls to plain accounts succeed with empty output.
Simulated simulate(const SimulatedCall& call, const StateView& view, const BlockContext& block, std::uint64_t gas_limit,
                   const TxExecutor& executor);

struct GasEstimate {
    std::uint64_t gas = 0;  ///< A sufficient gas limit for the call, if `run` succeeded.
    Simulated run;          ///< The last run; eth_estimateGas reports its revert or refusal.
    bool ok() const noexcept { return !run.refusal && run.result.ok; }
};
GasEstimate estimate_gas(SimulatedCall call, const StateView& view, const BlockContext& block, std::uint64_t gas_limit,
                         const TxExecutor& executor);

}  // namespace retrace::ledger
