// SPDX-License-Identifier: MIT
// The beacon: a mix, once an epoch, of values that bonded verifiers reveal of their hash chains. SPEC 11.
#pragma once

#include "contracts/lifecycle/effects.hpp"
#include "market/draw.hpp"

namespace retrace::contracts {

/// At the first block of an epoch: mixes the epoch before, penalises and drops members that did not reveal in it.
void mix_if_due(Effects& fx);
/// Stores the reveals that draw segments until the next epoch is mixed.
void store_reveals(ledger::State& state, const Hash32& beacon, std::vector<market::Reveal> reveals);
/// Returns the first height at which a beacon is known whose reveals were all due after block `height`.
std::uint64_t next_draw_height(const Params& params, std::uint64_t height);
/// Removes a member from the beacon and from all draws.
void drop_member(Effects& fx, const Address& party, bool dropped);

}  // namespace retrace::contracts
