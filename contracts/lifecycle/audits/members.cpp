// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/audits/members.hpp"

#include <algorithm>
#include <array>

#include "contracts/lifecycle/staking/backlog.hpp"

namespace retrace::contracts {
namespace {

/// Whether audits or disputes hold the party's stake. Both end within their deadlines, so the stake becomes free.
bool serves_elsewhere(const Effects& fx, const Address& party) {
    return !views::open_audits(fx.state, party).empty() || !views::open_disputes(fx.state, party).empty();
}

/// Returns whether a member joined before the beacon could be known, and whether it has the stake and the time for a
/// seat. It depends on the records of `keys_of`.
Readiness readiness(const Effects& fx, const Address& party, const market::VerifierInfo& info) {
    if (info.retiring || info.joined_epoch >= views::epoch_of(fx.params, fx.height) - 1) return Readiness::none;
    const U256 needed = fx.params.audit_bond + fx.params.beacon_penalty;            // 11.7
    const bool in_time = has_time_for_seat(fx.state, fx.params, party, fx.height);  // 14.2.8
    const bool free = in_time && views::stake(fx.state, party).available() >= needed &&
                      views::open_audits(fx.state, party).size() + views::open_disputes(fx.state, party).size() <
                          market::kOpenItemsMax;
    if (free) return Readiness::free;
    return in_time && !serves_elsewhere(fx, party) ? Readiness::none : Readiness::busy;
}

std::array<keys::Key, 5> keys_of(const Address& party) {
    return {keys::verifier(party), keys::backlog(party), keys::stake(party), keys::open_audits(party),
            keys::open_disputes(party)};
}

ledger::SlotKey slot_of(const keys::Key& key) { return {address_of(key.contract), key.bytes}; }

Member read(const Effects& fx, const Address& party) {
    const auto info = must_load<market::VerifierInfo>(fx.state, keys::verifier(party));
    return {party, info.weight, readiness(fx, party, info)};
}

bool read_all(const Effects& fx, const MemberVisitor& visitor) {
    const std::vector<Address> parties = views::verifiers(fx.state);
    return std::any_of(parties.begin(), parties.end(), [&](const Address& party) { return visitor(read(fx, party)); });
}

bool lists_members(const ledger::StateDiff& diff) { return diff.slots.contains(slot_of(keys::verifiers())); }

}  // namespace

std::vector<std::size_t> MemberCache::changed_by(const ledger::StateDiff& diff) const {
    std::vector<std::size_t> out;
    for (const auto& [slot, value] : diff.slots)
        if (const auto found = keys_.find(slot); found != keys_.end()) out.push_back(found->second);
    return out;
}

bool MemberCache::visit(const Effects& fx, const MemberVisitor& visitor) {
    const ledger::StateDiff own = fx.state.diff();
    if (lists_members(own)) return read_all(fx, visitor);
    if (!listed_) {
        entries_.clear();
        keys_.clear();
        for (const Address& party : views::verifiers(fx.state)) {
            for (const keys::Key& key : keys_of(party)) keys_.emplace(slot_of(key), entries_.size());
            entries_.push_back({{party, {}, {}}, false});
        }
        listed_ = true;
    }
    std::vector<bool> changed(entries_.size());
    for (const std::size_t index : changed_by(own)) changed[index] = true;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        Entry& entry = entries_[i];
        if (changed[i]) {
            if (visitor(read(fx, entry.member.party))) return true;
            continue;
        }
        if (!entry.known) entry = {read(fx, entry.member.party), true};
        if (visitor(entry.member)) return true;
    }
    return false;
}

void MemberCache::forget(const ledger::StateDiff& diff) {
    if (lists_members(diff)) listed_ = false;
    for (const std::size_t index : changed_by(diff)) entries_[index].known = false;
}

bool visit_members(const Effects& fx, const MemberVisitor& visitor) {
    return fx.members != nullptr ? fx.members->visit(fx, visitor) : read_all(fx, visitor);
}

}  // namespace retrace::contracts
