// SPDX-License-Identifier: MIT
// Blocks, transactions, receipts and logs as Ethereum's clients read them.
#pragma once

#include "ledger/chain/chain.hpp"
#include "ledger/chain/log_search.hpp"
#include "node/platform/json_values.hpp"

namespace retrace::node::rpc {

/// Everything but transactions, size and uncles: what newHeads carries.
json::object header_json(const ledger::Block& block);
json::object block_json(const ledger::Block& block, bool full_txs);

/// Where a mined transaction stands.
struct TxPlace {
    Hash32 block_hash;
    std::uint64_t height = 0;
    std::uint32_t index = 0;
    ledger::U256 effective_gas_price;
};
/// `place` is nullptr while the transaction is pending: the three block members are null then.
json::object tx_json(const ledger::SignedTx& tx, const TxPlace* place);
/// Also for bytes that are no transaction (a faulty proposer's): zeros with the right hash.
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
/// Ethereum's members and, for a failed one, `revertReason` (the revert data) and `error` (the words).
json::object receipt_json(const ledger::BlockTx& tx, const ledger::Receipt& receipt,
                          const ReceiptPlace& place);
/// Of all transactions of a block.
json::array receipts_json(const ledger::Block& block);

}  // namespace retrace::node::rpc
