// SPDX-License-Identifier: MIT
// What a transaction did, proved under the header of its block.
#pragma once

#include "ledger/block/block.hpp"
#include "node/rpc_client/rpc_client.hpp"

namespace retrace::node {

/// Reads all receipts of the block, whose header is known to be right, and compares their roots with the header's. An
/// Error if the node shows others, or if the transaction is not in the block. The roots do not cover the reason of a
/// refusal, which is marked as the node's word.
Result<TxOutcome> proven_outcome(RpcClient& node, const ledger::Header& header, const Hash32& tx);

}  // namespace retrace::node
