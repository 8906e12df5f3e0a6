// SPDX-License-Identifier: MIT
// A block of the ledger that the validators of a chain on CometBFT have signed for.
#pragma once

#include "ledger/block/block.hpp"
#include "node/light/light_client.hpp"
#include "node/rpc_client/rpc_client.hpp"

namespace retrace::node {

struct ProvenBlock {
    ledger::Header header;
    std::uint64_t chain_id = 0;  ///< Of the ledger, as the validators' header names it.
};

/// The newest block that can be proved, which is one below CometBFT's newest: CometBFT's header has as its app hash the
/// hash of our block before it (node/decisions/004). The node is not trusted; Errors say what it could not prove.
Result<ProvenBlock> newest_proven(RpcClient& node, light::LightClient& light);

/// The header of the block before a proved one, which names its hash.
Result<ledger::Header> header_before(RpcClient& node, const ledger::Header& proven);

}  // namespace retrace::node
