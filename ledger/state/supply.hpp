// SPDX-License-Identifier: MIT
// Accounting of the supply: balances + burned = minted, at every height. SPEC 6.
#pragma once

#include "ledger/state/state.hpp"

namespace retrace::ledger {

/// The owner of the ledger's own slots. No key and no contract has this address.
Address ledger_address();

/// Amounts ever created and ever destroyed.
U256 minted(const StateView& view);
U256 burned(const StateView& view);

/// Creates `amount`; only genesis does this. Returns false if the supply would overflow.
[[nodiscard]] bool mint(State& state, const Address& to, const U256& amount);
/// Destroys `amount` of `from`'s balance and books it; false, without a change, when the balance is too low.
[[nodiscard]] bool burn(State& state, const Address& from, const U256& amount);
/// Books `amount` as destroyed that was already taken out of balances (a fee that was paid in advance).
void book_burn(State& state, const U256& amount);

/// Whether `after`, an overlay on `before`, leaves balances + burned - minted unchanged.
bool supply_conserved(const StateView& before, const State& after);

}  // namespace retrace::ledger
