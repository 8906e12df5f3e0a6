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

/// What the last election added to a member's power.
struct PowerGrowth {
    ledger::Address account;
    std::uint64_t amount = 0;
    bool operator==(const PowerGrowth&) const = default;
    static auto tie(auto& g) { return std::tie(g.account, g.amount); }
};

/// A pair of keys that an account has registered, now or before. It is never forgotten or changed: votes and shares of
/// earlier heights are checked against it.
struct RegisteredKey {
    ledger::Address account;
    Hash32 key;
    Bytes vrf_key;
    static auto tie(auto& k) { return std::tie(k.account, k.key, k.vrf_key); }
};

/// The version of the rules, and what is decided and voted about the next one. SPEC 20.9
struct UpgradeVote {
    ledger::Address account;
    std::uint64_t version = 0, height = 0;
    static auto tie(auto& v) { return std::tie(v.account, v.version, v.height); }
    static std::vector<std::string_view> names() { return {"account", "version", "height"}; }
};
struct Upgrade {
    std::uint64_t current = 1;              ///< Version by which blocks are executed now.
    std::uint64_t version = 0, height = 0;  ///< Decided: this version from this block on; 0: none is.
    std::vector<UpgradeVote> votes;         ///< Of members of the set, in order of account.
    static auto tie(auto& u) { return std::tie(u.current, u.version, u.height, u.votes); }
    static std::vector<std::string_view> names() { return {"current", "version", "height", "votes"}; }
};

namespace views {

Upgrade upgrade(const ledger::StateView& view);

/// nullopt on a chain whose genesis names no validators.
std::optional<market::ValidatorRules> validator_rules(const ledger::StateView& view);
std::optional<market::ValidatorInfo> validator(const ledger::StateView& view, const ledger::Address& account);
/// In order of account.
std::vector<SetMember> validator_set(const ledger::StateView& view);
std::optional<RegisteredKey> registered_key(const ledger::StateView& view, const ledger::ConsensusAddress& address);

}  // namespace views
}  // namespace retrace::contracts
