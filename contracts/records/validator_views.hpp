// SPDX-License-Identifier: MIT
// Reads of the validators' records. SPEC 20.
#pragma once

#include <optional>
#include <vector>

#include "ledger/state/view.hpp"
#include "market/validator.hpp"

namespace retrace::contracts {

/// A validator in the set that decides the blocks.
struct SetMember {
    ledger::Address account;
    Hash32 key;
    std::uint64_t power = 0;
    bool operator==(const SetMember&) const = default;
    static auto tie(auto& m) { return std::tie(m.account, m.key, m.power); }
    static std::vector<std::string_view> names() { return {"account", "key", "power"}; }
};

/// A pair of keys that an account has registered, now or before. It is never forgotten or changed: votes and shares of
/// earlier heights are checked against it.
struct RegisteredKey {
    ledger::Address account;
    Hash32 key;
    Bytes vrf_key;
    static auto tie(auto& k) { return std::tie(k.account, k.key, k.vrf_key); }
};

namespace views {

/// nullopt on a chain whose genesis names no validators.
std::optional<market::ValidatorRules> validator_rules(const ledger::StateView& view);
std::optional<market::ValidatorInfo> validator(const ledger::StateView& view, const ledger::Address& account);
/// In order of account.
std::vector<SetMember> validator_set(const ledger::StateView& view);
std::optional<RegisteredKey> registered_key(const ledger::StateView& view, const ledger::ConsensusAddress& address);

}  // namespace views
}  // namespace retrace::contracts
