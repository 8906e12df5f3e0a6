// SPDX-License-Identifier: MIT
// Shares of the beacon on their way from the validators' votes into a block: as its first entry, ahead of the
// transactions. Contracts' SPEC 20.8.
#pragma once

#include <optional>
#include <span>

#include "ledger/exec/executor.hpp"
#include "node/server/engine/engine.hpp"

namespace retrace::node {

/// The entry of a block: the text "retrace/shares/1", a count, and validator and proof of each, in order of validator.
/// Its first byte begins no transaction.
Bytes encode_shares(std::span<const ledger::BeaconShare> shares);
/// nullopt: the bytes are no such entry, or are not in order.
std::optional<std::vector<ledger::BeaconShare>> decode_shares(View entry);

/// The shares that the votes of a commit bring, in order of validator.
std::vector<ledger::BeaconShare> shares_of(std::span<const engine::Vote> votes);

/// Whether the share proves the value of the validator's VRF for votes of that height.
bool is_share(const ledger::TxExecutor& executor, const ledger::StateView& view, std::uint64_t chain_id,
              std::uint64_t height, const ledger::BeaconShare& share);

/// Whether these are right shares of validators that voted for a block of that height, with more than two thirds of
/// the power: what a proposer cannot fall short of, because so many votes have decided the block.
bool are_enough(const ledger::TxExecutor& executor, const ledger::StateView& view, std::uint64_t chain_id,
                std::uint64_t height, std::span<const engine::Vote> votes, std::span<const ledger::BeaconShare> shares);

}  // namespace retrace::node
