// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/effects.hpp"

#include "ledger/state/supply.hpp"

namespace retrace::contracts {
namespace {

U256 held(const Effects& fx, Contract contract) {
    return load<Amount>(fx.state, keys::held(contract)).value_or(Amount{}).value;
}
void set_held(Effects& fx, Contract contract, const U256& amount) {
    if (amount.is_zero())
        remove(fx.state, keys::held(contract));
    else
        store(fx.state, keys::held(contract), Amount{amount});
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

void hand_over(Effects& fx, Contract from, Contract to, const U256& amount) {
    pay(fx, from, address_of(to), amount);
    set_held(fx, to, held(fx, to) + amount);
}

void schedule(Effects& fx, std::uint64_t height, const ScheduledItem& item) {
    ensure(height > fx.height, "the scheduler is about the future");
    const std::uint64_t count = counter(fx.state, keys::due_count(height));
    const keys::Key page = keys::due_page(height, count / kDuePage);
    auto items = load<ListOf<ScheduledItem>>(fx.state, page).value_or(ListOf<ScheduledItem>{});
    items.items.push_back(item);
    store(fx.state, page, items);
    store(fx.state, keys::due_count(height), Counter{count + 1});
}

void schedule_single(Effects& fx, std::uint64_t height, ScheduledKind kind, std::uint64_t id, std::uint32_t run) {
    // One item for the payments of all runs of a task: an opening would otherwise write up to five.
    if (kind == ScheduledKind::payment) run = 0;
    const keys::Key key = keys::scheduled_height(static_cast<std::uint8_t>(kind), id, run);
    const std::uint64_t pending = counter(fx.state, key);
    if (pending != 0 && pending <= height) return;
    store(fx.state, key, Counter{height});
    schedule(fx, height, {kind, id, run, height});
}

bool take_scheduled_item(Effects& fx, const ScheduledItem& item) {
    const keys::Key key = keys::scheduled_height(static_cast<std::uint8_t>(item.kind), item.id, item.run);
    if (counter(fx.state, key) != item.index) return false;
    remove(fx.state, key);
    return true;
}

}  // namespace retrace::contracts
