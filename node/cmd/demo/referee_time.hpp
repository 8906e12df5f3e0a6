// SPDX-License-Identifier: MIT
#pragma once

#include "node/agents/event_log.hpp"

namespace retrace::node {

/// Measures the microseconds that the deciding move of a dispute takes on this machine, including verification of its
/// proofs. It replays the move from the transaction on the game of the block before, read from the node. nullopt when
/// the dispute ended without a move or the node no longer keeps that state.
std::optional<double> referee_time(RpcClient& client, const DisputeFacts& facts);

}  // namespace retrace::node
