// SPDX-License-Identifier: MIT
// The standing of a solver, which others may prove from the state root. SPEC 13.11.
#pragma once

#include "contracts/records/store.hpp"
#include "market/standing.hpp"

namespace retrace::contracts {

namespace keys {
Key standing(const Address& solver);
}  // namespace keys

namespace views {
/// As it weighed at its own height; market::decayed tells what is left of it later.
market::Standing standing(const ledger::StateView& view, const ledger::Address& solver);
}  // namespace views

void note_verified(ledger::State& state, const ledger::Address& solver, const ledger::U256& fee, std::uint64_t height);
void note_loss(ledger::State& state, const ledger::Address& solver, const ledger::U256& amount, bool convicted,
               std::uint64_t height);

}  // namespace retrace::contracts
