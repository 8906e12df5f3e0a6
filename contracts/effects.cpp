// SPDX-License-Identifier: MIT
#include "contracts/effects.hpp"

#include "ledger/state/supply.hpp"

namespace retrace::contracts {
namespace {

U256 held(const Effects& fx, Contract contract) {
    return load<Amount>(fx.state, keys::held(contract)).value_or(Amount{}).value;
}
void set_held(Effects& fx, Contract contract, const U256& amount) {
    if (amount.is_zero()) remove(fx.state, keys::held(contract));
    else store(fx.state, keys::held(contract), Amount{amount});
}

}  // namespace

void take(Effects& fx, Contract to, const Address& from, const U256& amount) {
    if (amount.is_zero()) return;
    ensure(fx.state.transfer(from, address_of(to), amount), "the sender's balance was checked");
    set_held(fx, to, held(fx, to) + amount);
}

void pay(Effects& fx, Contract from, const Address& to, const U256& amount) {
    if (amount.is_zero()) return;
    set_held(fx, from, held(fx, from) - amount);
    ensure(fx.state.transfer(address_of(from), to, amount), "a contract has what its records say");
}

void burn_held(Effects& fx, Contract from, const U256& amount) {
    if (amount.is_zero()) return;
    set_held(fx, from, held(fx, from) - amount);
    ensure(ledger::burn(fx.state, address_of(from), amount), "a contract has what its records say");
}

void schedule(Effects& fx, std::uint64_t height, const DueItem& item) {
    ensure(height > fx.height, "the agenda is about the future");
    auto items = load<ListOf<DueItem>>(fx.state, keys::due(height)).value_or(ListOf<DueItem>{});
    while (items.items.size() >= kDueMax)
        items = load<ListOf<DueItem>>(fx.state, keys::due(++height)).value_or(ListOf<DueItem>{});
    items.items.push_back(item);
    store(fx.state, keys::due(height), items);
}

}  // namespace retrace::contracts
