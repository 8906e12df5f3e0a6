// SPDX-License-Identifier: MIT
#include "ledger/state/supply.hpp"

namespace retrace::ledger {
namespace {

constexpr std::string_view kMinted = "minted";
constexpr std::string_view kBurned = "burned";

U256 read(const StateView& state, std::string_view key) {
    return U256::from_be(state.slot(ledger_address(), view(key)));
}

void write(State& state, std::string_view key, const U256& value) {
    const auto be = value.to_be();
    state.set_slot(ledger_address(), view(key), value.is_zero() ? Bytes{} : Bytes(be.begin(), be.end()));
}

}  // namespace

Address ledger_address() {
    Address out;
    constexpr std::string_view kName = "retrace-ledger";
    std::copy(kName.begin(), kName.end(), out.bytes.begin());
    return out;
}

U256 minted(const StateView& view) { return read(view, kMinted); }
U256 burned(const StateView& view) { return read(view, kBurned); }

bool mint(State& state, const Address& to, const U256& amount) {
    const auto total = checked_add(minted(state), amount);
    if (!total) return false;
    write(state, kMinted, *total);
    state.credit(to, amount);
    return true;
}

bool burn(State& state, const Address& from, const U256& amount) {
    if (!state.debit(from, amount)) return false;
    book_burn(state, amount);
    return true;
}

void book_burn(State& state, const U256& amount) {
    if (!amount.is_zero()) write(state, kBurned, burned(state) + amount);
}

bool supply_conserved(const StateView& before, const State& after) {
    // Each side is a sum of parts of one supply below 2^256, so neither can overflow while the rule holds.
    std::optional<U256> old_sum = burned(before);
    std::optional<U256> new_sum = burned(after);
    for (const auto& [address, account] : after.diff().accounts) {
        if (old_sum) old_sum = checked_add(*old_sum, before.account(address).balance);
        if (new_sum) new_sum = checked_add(*new_sum, account.balance);
    }
    if (!old_sum || !new_sum) return false;
    const auto old_side = checked_add(*old_sum, minted(after));
    const auto new_side = checked_add(*new_sum, minted(before));
    return old_side && new_side && *old_side == *new_side;
}

}  // namespace retrace::ledger
