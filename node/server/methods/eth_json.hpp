// SPDX-License-Identifier: MIT
// Blocks, transactions, receipts and logs as JSON in Ethereum's format.
#pragma once

#include "ledger/chain/chain.hpp"
#include "ledger/chain/log_search.hpp"
#include "node/platform/json_values.hpp"

namespace retrace::node::rpc {

/// All members but transactions, size and uncles, as in newHeads.
json::object header_json(const ledger::Block& block);
json::object block_json(const ledger::Block& block, bool full_txs);

/// The position of a mined transaction.
struct TxPlace {
    Hash32 block_hash;
    std::uint64_t height = 0;
    std::uint32_t index = 0;
    ledger::U256 effective_gas_price;
};
/// `place` is nullptr while the transaction is pending; the three block members are then null.
json::object tx_json(const ledger::SignedTx& tx, const TxPlace* place);
/// Same for the content of a block. Bytes that are no transaction (of a faulty proposer) give zeros with the right
/// hash.
json::object tx_json(const ledger::BlockTx& tx, const TxPlace* place);

json::object log_json(const ledger::LogEntry& entry);
json::array logs_json(const std::vector<ledger::LogEntry>& entries);

struct ReceiptPlace {
    Hash32 block_hash;
    std::uint64_t height = 0;
    std::uint64_t time_s = 0;
    std::uint32_t index = 0;
    std::uint64_t first_log_index = 0;
};
/// Ethereum's members and, for a failed transaction, `revertReason` (the revert data) and `error` (the message).
json::object receipt_json(const ledger::BlockTx& tx, const ledger::Receipt& receipt, const ReceiptPlace& place);
/// Receipts of all transactions of a block.
json::array receipts_json(const ledger::Block& block);

}  // namespace retrace::node::rpc
