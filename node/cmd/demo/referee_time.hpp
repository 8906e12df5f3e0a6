// SPDX-License-Identifier: MIT
#pragma once

#include "node/cmd/demo/event_log.hpp"

namespace retrace::node {

/// Microseconds that the deciding move of a dispute takes on this machine, verification of its proofs
/// included: the game of the block before, read from the node, and the move out of the transaction. nullopt
/// when the dispute ended without a move or the node no longer keeps that state.
std::optional<double> referee_time(RpcClient& client, const DisputeFacts& facts);

}  // namespace retrace::node
