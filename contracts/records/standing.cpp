// SPDX-License-Identifier: MIT
#include "contracts/records/standing.hpp"

namespace retrace::contracts {

market::Standing views::standing(const ledger::StateView& view, const ledger::Address& solver) {
    return load<market::Standing>(view, keys::standing(solver)).value_or(market::Standing{});
}

void note_verified(ledger::State& state, const ledger::Address& solver, const ledger::U256& fee, std::uint64_t height) {
    store(state, keys::standing(solver), market::with_verified(views::standing(state, solver), fee, height));
}

void note_loss(ledger::State& state, const ledger::Address& solver, const ledger::U256& amount, bool convicted,
               std::uint64_t height) {
    store(state, keys::standing(solver), market::with_loss(views::standing(state, solver), amount, convicted, height));
}

}  // namespace retrace::contracts
