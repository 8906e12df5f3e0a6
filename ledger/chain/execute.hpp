// SPDX-License-Identifier: MIT
// Execution of a block's transactions on a state: pure, no storage. SPEC 5.3.
#pragma once

#include "ledger/chain/block_input.hpp"
#include "ledger/exec/executor.hpp"
#include "ledger/tx/admit.hpp"

namespace retrace::ledger {

/// Decodes and recovers all transactions, `threads` at a time (0: as many as the machine has). The result
/// does not depend on the number of threads. Bytes that are no valid transaction of this chain come back
/// without `tx`.
std::vector<BlockTx> read_txs(const BlockInput& input, std::uint64_t chain_id, unsigned threads);

struct ExecutedTxs {
    std::vector<Receipt> receipts;
    std::vector<Log> system_logs;
    Bloom bloom{};
    std::uint64_t gas_used = 0;
};
/// Runs begin_block and the transactions in order on `state`. `block.base_fee` is the block's.
ExecutedTxs execute_txs(State& state, const BlockContext& block, std::uint64_t gas_limit,
                        const TxExecutor& executor, std::span<const BlockTx> txs);

/// A call without a transaction, for eth_call and eth_estimateGas: no nonce, no fee, nothing written.
struct SimulatedCall {
    Address from;
    std::optional<Address> to;
    U256 value;
    Bytes data;
    std::vector<AccessEntry> access_list = {};  ///< Charged for, as in a transaction.
    std::uint64_t gas = 0;  ///< 0: as much as a block may hold.
};
struct Simulated {
    CallResult result;  ///< gas_used includes the intrinsic gas.
    std::optional<TxRefusal>
        refusal;  ///< The call could be no transaction at all; `result` says nothing then.
};
/// Calls of plain accounts succeed with empty output.
Simulated simulate(const SimulatedCall& call, const StateView& view, const BlockContext& block,
                   std::uint64_t gas_limit, const TxExecutor& executor);

struct GasEstimate {
    std::uint64_t gas = 0;  ///< A gas limit with which the call succeeds, when `run` did.
    Simulated run;          ///< The last run: a revert or a refusal is what eth_estimateGas reports.
    bool ok() const noexcept { return !run.refusal && run.result.ok; }
};
GasEstimate estimate_gas(SimulatedCall call, const StateView& view, const BlockContext& block,
                         std::uint64_t gas_limit, const TxExecutor& executor);

}  // namespace retrace::ledger
