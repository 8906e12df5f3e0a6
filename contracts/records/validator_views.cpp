// SPDX-License-Identifier: MIT
#include "contracts/records/validator_views.hpp"

#include "contracts/records/store.hpp"

namespace retrace::contracts::views {

Upgrade upgrade(const ledger::StateView& view) { return load<Upgrade>(view, keys::upgrade()).value_or(Upgrade{}); }
std::optional<market::ValidatorRules> validator_rules(const ledger::StateView& view) {
    return load<market::ValidatorRules>(view, keys::validator_rules());
}
std::optional<market::ValidatorInfo> validator(const ledger::StateView& view, const ledger::Address& account) {
    return load<market::ValidatorInfo>(view, keys::validator(account));
}
std::vector<SetMember> validator_set(const ledger::StateView& view) {
    return list<SetMember>(view, keys::validator_set());
}
std::optional<RegisteredKey> registered_key(const ledger::StateView& view, const ledger::ConsensusAddress& address) {
    return load<RegisteredKey>(view, keys::registered_key(address));
}

}  // namespace retrace::contracts::views
