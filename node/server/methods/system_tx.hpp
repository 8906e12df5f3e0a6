// SPDX-License-Identifier: MIT
// The synthetic transaction of a block. The processing at the beginning of a block (deadlines, draws) emits logs, and
// Ethereum's clients request the transaction of every log. A block with such logs has a system transaction, after all
// others, under the block's own hash. It is no leaf of the block's root and not in its list of transactions.
#pragma once

#include "node/server/jsonrpc/router.hpp"
#include "node/server/methods/backend.hpp"
#include "node/server/methods/eth_json.hpp"

namespace retrace::node::rpc {

inline bool has_system_tx(const ledger::Block& block) noexcept { return !block.system_logs.empty(); }
/// The system transaction and its receipt, for a block that has one.
json::object system_tx_json(const ledger::Block& block, std::uint64_t chain_id);
json::object system_receipt_json(const ledger::Block& block);

/// The block whose system transaction has this hash; nullptr: there is none. Charges the caller for the read.
Checked<std::shared_ptr<const ledger::Block>> find_system_tx(const Backend& backend, Caller& caller,
                                                             const Hash32& hash);

}  // namespace retrace::node::rpc
