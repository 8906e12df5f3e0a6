// SPDX-License-Identifier: MIT
#include "ledger/chain/execute.hpp"

#include <algorithm>
#include <iterator>

#include "ledger/block/report_log.hpp"
#include "ledger/exec/max_gas.hpp"
#include "ledger/state/supply.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::ledger {
namespace {

/// The receipt of a transaction that is included without effect and without charge: only a faulty proposer puts such
/// bytes into a block. SPEC 5.3.3
Receipt refused(const TxRefusal& refusal) {
    Receipt receipt;
    receipt.revert_reason = std::string(slug(refusal.code)) + ": " + refusal.message;
    return receipt;
}

CallResult run_call(State& state, const BlockContext& block, const TxExecutor& executor, const Call& call) {
    if (executor.is_contract(call.to)) {
        CallResult result = executor.call(state, block, call);
        ensure(result.gas_used <= call.gas, "the executor used more gas than it had");
        return result;
    }
    CallResult result;
    result.ok = state.transfer(call.sender, call.to, call.value);
    ensure(result.ok, "an admitted transaction covers its value");
    return result;
}

/// Takes the whole gas limit at the effective price in advance, so that no rule can spend the fee. SPEC 5.3.4
void take_gas(State& state, const SignedTx& tx, const U256& price) {
    Account sender = state.account(tx.sender);
    ++sender.nonce;
    sender.balance -= price * U256{tx.tx.gas_limit};
    state.set_account(tx.sender, sender);
}

/// Refunds what `taken` a unit of gas is more than the receipt's price, burns the base fee and gives the rest to the
/// proposer. If the proposer is a native contract, the rest is burned too, because its books would no longer match its
/// balance. SPEC 5.3.4
void settle_gas(State& state, const SignedTx& tx, const U256& taken, const BlockContext& block,
                const TxExecutor& executor, const Receipt& receipt) {
    const U256 gas_used{receipt.gas_used};
    const U256 back = taken * U256{tx.tx.gas_limit} - receipt.effective_gas_price * gas_used;
    if (!back.is_zero()) state.credit(tx.sender, back);
    const U256 tip_price = effective_tip(tx.tx, block.base_fee);
    book_burn(state, (receipt.effective_gas_price - tip_price) * gas_used);
    const U256 tip = tip_price * gas_used;
    if (tip.is_zero()) return;
    if (executor.is_contract(block.proposer))
        book_burn(state, tip);
    else
        state.credit(block.proposer, tip);
}

Call call_of(const SignedTx& tx) {
    return {.sender = tx.sender,
            .to = *tx.tx.to,
            .value = tx.tx.value,
            .data = tx.tx.data,
            .gas = tx.tx.gas_limit - intrinsic_gas(tx.tx)};
}

/// `call` executes the transaction's call.
template <class RunCall>
Receipt run(State& state, const BlockContext& block, const TxExecutor& executor, const SignedTx& tx,
            const RunCall& call) {
    const U256 price = effective_gas_price(tx.tx, block.base_fee);
    take_gas(state, tx, price);
    const State::Mark mark = state.mark();
    CallResult result = call(call_of(tx));
    if (!result.ok) state.revert(mark);
    Receipt receipt;
    receipt.success = result.ok;
    receipt.gas_used = intrinsic_gas(tx.tx) + result.gas_used;
    const bool is_free = result.ok && result.is_free && tx.tx.access_list.empty();  // 5.3.10
    receipt.effective_gas_price = is_free ? effective_tip(tx.tx, block.base_fee) : price;
    if (result.ok) receipt.logs = std::move(result.logs);
    receipt.output = std::move(result.output);
    receipt.revert_reason = std::move(result.revert_reason);
    settle_gas(state, tx, price, block, executor, receipt);
    return receipt;
}

/// Gas of the block: the limit and the rest.
struct BlockGas {
    std::uint64_t limit = 0, left = 0;
};

Receipt execute_tx(State& block_state, const BlockContext& block, const BlockGas& gas, const TxExecutor& executor,
                   const BlockTx& entry) {
    if (!entry.tx) return refused({TxError::malformed, "not a valid transaction of this chain"});
    const Transaction& tx = entry.tx->tx;
    if (const auto refusal = check(tx)) return refused(*refusal);
    if (const auto refusal = check_gas_limit(tx, gas.limit)) return refused(*refusal);
    // max_gas is computed only if the gas limit alone does not show that the transaction fits.
    const std::uint64_t most = tx.gas_limit <= gas.left ? tx.gas_limit : max_gas(tx, executor);
    if (const auto refusal = admit(*entry.tx, block_state, block.base_fee, most, gas.left)) return refused(*refusal);
    State state = State::over(block_state);
    Receipt receipt = run(state, block, executor, *entry.tx,
                          [&](const Call& call) { return run_call(state, block, executor, call); });
    // 5.3.8: a bug in the rules. The transaction pays its gas and changes nothing, identically on every node.
    if (const auto broken = executor.broken_invariant(block_state, state)) {
        state.clear();
        receipt = run(state, block, executor, *entry.tx,
                      [&](const Call& call) { return executor.refuse_broken(call, *broken); });
    }
    ensure(receipt.gas_used <= gas.left, "a transaction used more gas than its bytes say");
    ensure(supply_conserved(block_state, state), "a transaction changed the supply");
    block_state.apply(state.diff());
    return receipt;
}

std::vector<Log> begin(State& block_state, const BlockContext& block, const TxExecutor& executor,
                       const EngineReport& report) {
    State state = State::over(block_state);
    std::vector<Log> logs;
    if (!report.empty()) {
        logs.push_back(report_log(report));  // 5.3.9
        std::ranges::move(executor.engine_report(state, block, report), std::back_inserter(logs));
    }
    std::ranges::move(executor.begin_block(state, block), std::back_inserter(logs));
    ensure(supply_conserved(block_state, state), "the start of a block changed the supply");
    block_state.apply(state.diff());
    return logs;
}

}  // namespace

ExecutedTxs execute_txs(State& state, const BlockContext& block, std::uint64_t gas_limit, const TxExecutor& executor,
                        const EngineReport& report, std::span<const BlockTx> txs) {
    ExecutedTxs out;
    out.system_logs = begin(state, block, executor, report);
    for (const Log& log : out.system_logs) add_to_bloom(out.bloom, log);
    out.receipts.reserve(txs.size());
    for (const BlockTx& tx : txs) {
        Receipt receipt = execute_tx(state, block, {gas_limit, gas_limit - out.gas_used}, executor, tx);
        out.gas_used += receipt.gas_used;
        receipt.cumulative_gas = out.gas_used;
        for (const Log& log : receipt.logs) add_to_bloom(out.bloom, log);
        out.receipts.push_back(std::move(receipt));
    }
    return out;
}

}  // namespace retrace::ledger
