// SPDX-License-Identifier: MIT
// The beacon: what bonded verifiers reveal of their hash chains, mixed once an epoch. SPEC 11.
#pragma once

#include "contracts/lifecycle/effects.hpp"
#include "market/draw.hpp"

namespace retrace::contracts {

/// At the first block of an epoch: mixes the epoch before, penalises and drops members that did not reveal in it.
void mix_if_due(Effects& fx);
/// Keeps what draws the segments until the next epoch is mixed.
void store_reveals(ledger::State& state, const Hash32& beacon, std::vector<market::Reveal> reveals);
/// First height at which a beacon is known whose reveals were all due after this block.
std::uint64_t next_draw_height(const Params& params, std::uint64_t height);
/// Takes a member out of the beacon and of all draws.
void drop_member(Effects& fx, const Address& party, bool dropped);

}  // namespace retrace::contracts
