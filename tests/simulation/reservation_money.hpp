// SPDX-License-Identifier: MIT
// What a block moves beside reservations, so that their books can be compared to the last unit. SPEC 5.5.
#pragma once

#include "ledger/block/block.hpp"
#include "ledger/types/address.hpp"
#include "ledger/types/u256.hpp"

namespace retrace::sim {

/// Coins that the party's own transactions took in the block: fees, and the values of those that succeeded.
ledger::U256 spent_by(const ledger::Block& block, const ledger::Address& party);
/// Coins that the block burned, as its receipts and events say, beside the deposits of broken reservations.
ledger::U256 burned_by(const ledger::Block& block);
/// Whether only reservations and `spent_by` can have moved the party's coins: no other event that comes with a payment
/// names it, no event that pays somebody without a name is there, and it neither proposed the block nor called a method
/// that pays its sender. Deposits of bids return without an event of their bidder.
bool only_reservations_move(const ledger::Block& block, const ledger::Address& party);

}  // namespace retrace::sim
