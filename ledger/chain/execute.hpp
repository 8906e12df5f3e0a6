// SPDX-License-Identifier: MIT
// Execution of a block's transactions on a state: pure, no storage. SPEC 5.3.
#pragma once

#include "ledger/chain/block_input.hpp"
#include "ledger/exec/executor.hpp"

namespace retrace::ledger {

/// Decodes and recovers all transactions, `threads` at a time (0: as many as the machine has). The result does not
/// depend on the number of threads. Bytes that are no valid transaction of this chain come back without `tx`.
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

/// Whether a transaction could run now: nonce, funds, fee cap, block gas (Ethereum's order and texts).
std::optional<TxRefusal> admit(const SignedTx& tx, const StateView& view, const U256& base_fee,
                               std::uint64_t gas_left);

/// A call without a transaction, for eth_call and eth_estimateGas: no nonce, no fee, nothing written.
struct SimulatedCall {
    Address from;
    std::optional<Address> to;
    U256 value;
    Bytes data;
    std::uint64_t gas = 0;            ///< 0: as much as a block may hold.
};
/// Calls of plain accounts succeed with empty output. gas_used includes the intrinsic gas.
CallResult simulate(const SimulatedCall& call, const StateView& view, const BlockContext& block,
                    std::uint64_t gas_limit, const TxExecutor& executor);
/// Gas limit with which `call` succeeds as a transaction; the call's own result when it is refused.
struct GasEstimate {
    bool ok = false;
    std::uint64_t gas = 0;
    CallResult result;
};
GasEstimate estimate_gas(const SimulatedCall& call, const StateView& view, const BlockContext& block,
                         std::uint64_t gas_limit, const TxExecutor& executor);

}  // namespace retrace::ledger
