// SPDX-License-Identifier: MIT
#include "ledger/state/state.hpp"

namespace retrace::ledger {

Account State::account(const Address& address) const {
    const auto found = accounts_.find(address);
    return found != accounts_.end() ? found->second : base_.account(address);
}

Bytes State::slot(const Address& contract, View key) const {
    const auto found = slots_.find(SlotRef{contract, key});
    return found != slots_.end() ? found->second : base_.slot(contract, key);
}

void State::set_account(const Address& address, const Account& account) {
    Change change{.is_account = true, .address = address, .key = {}, .account = {}, .value = {}};
    const auto [entry, inserted] = accounts_.try_emplace(address, account);
    if (!inserted) {
        change.account = entry->second;
        entry->second = account;
    }
    journal_.push_back(std::move(change));
}

void State::set_slot(const Address& contract, View key, Bytes value) {
    Change change{.is_account = false, .address = contract, .key = to_bytes(key), .account = {}, .value = {}};
    const auto found = slots_.find(SlotRef{contract, key});
    if (found == slots_.end()) {
        slots_.emplace(SlotKey{contract, change.key}, std::move(value));
    } else {
        change.value = std::move(found->second);
        found->second = std::move(value);
    }
    journal_.push_back(std::move(change));
}

bool State::transfer(const Address& from, const Address& to, const U256& amount) {
    if (!debit(from, amount)) return false;
    credit(to, amount);
    return true;
}

bool State::debit(const Address& from, const U256& amount) {
    Account account = this->account(from);
    const auto left = checked_sub(account.balance, amount);
    if (!left) return false;
    account.balance = *left;
    set_account(from, account);
    return true;
}

void State::credit(const Address& to, const U256& amount) {
    Account account = this->account(to);
    account.balance += amount;  // cannot overflow: the supply is below 2^256
    set_account(to, account);
}

void State::revert(Mark mark) {
    while (journal_.size() > mark) {
        Change& change = journal_.back();
        if (change.is_account) {
            if (change.account)
                accounts_[change.address] = *change.account;
            else
                accounts_.erase(change.address);
        } else {
            const auto found = slots_.find(SlotRef{change.address, change.key});
            if (change.value)
                found->second = std::move(*change.value);
            else
                slots_.erase(found);
        }
        journal_.pop_back();
    }
}

StateDiff State::diff() const {
    StateDiff out;
    for (const auto& [address, account] : accounts_) {
        if (base_.account(address) != account) out.accounts.emplace_hint(out.accounts.end(), address, account);
    }
    for (const auto& [key, value] : slots_) {
        if (base_.slot(key.contract, key.key) != value) out.slots.emplace_hint(out.slots.end(), key, value);
    }
    return out;
}

void State::apply(const StateDiff& diff) {
    for (const auto& [address, account] : diff.accounts) accounts_.insert_or_assign(address, account);
    for (const auto& [key, value] : diff.slots) slots_.insert_or_assign(key, value);
}

void State::clear() {
    accounts_.clear();
    slots_.clear();
    journal_.clear();
}

}  // namespace retrace::ledger
