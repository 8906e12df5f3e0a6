// SPDX-License-Identifier: MIT
// Events of the validators' contract. SPEC 20.
#pragma once

#include "contracts/calls/calls.hpp"

namespace retrace::contracts {

struct ValidatorRegistered {
    static constexpr Contract kContract = Contract::validators;
    static constexpr std::string_view kName = "ValidatorRegistered";
    static constexpr std::size_t kIndexed = 1;
    static Names names() { return {"account", "key"}; }
    static auto tie(auto& e) { return std::tie(e.account, e.key); }
    Address account;
    Hash32 key;
};
struct ValidatorStakeChanged {
    static constexpr Contract kContract = Contract::validators;
    static constexpr std::string_view kName = "ValidatorStakeChanged";
    static constexpr std::size_t kIndexed = 1;
    static Names names() { return {"account", "stake", "leaving"}; }
    static auto tie(auto& e) { return std::tie(e.account, e.stake, e.leaving); }
    Address account;
    U256 stake, leaving;
};
/// The validator's power in the set; 0: it is no longer in it.
struct ValidatorPowerChanged {
    static constexpr Contract kContract = Contract::validators;
    static constexpr std::string_view kName = "ValidatorPowerChanged";
    static constexpr std::size_t kIndexed = 1;
    static Names names() { return {"account", "key", "power"}; }
    static auto tie(auto& e) { return std::tie(e.account, e.key, e.power); }
    Address account;
    Hash32 key;
    std::uint64_t power = 0;
};
/// The validator did not vote (`until`: height from which it may come back) or signed twice (`until` 0: never).
struct ValidatorJailed {
    static constexpr Contract kContract = Contract::validators;
    static constexpr std::string_view kName = "ValidatorJailed";
    static constexpr std::size_t kIndexed = 1;
    static Names names() { return {"account", "until"}; }
    static auto tie(auto& e) { return std::tie(e.account, e.until); }
    Address account;
    std::uint64_t until = 0;
};
/// More than two thirds of the power voted that the rules have this version from block `height` on.
struct UpgradeDecided {
    static constexpr Contract kContract = Contract::validators;
    static constexpr std::string_view kName = "UpgradeDecided";
    static constexpr std::size_t kIndexed = 1;
    static Names names() { return {"version", "height"}; }
    static auto tie(auto& e) { return std::tie(e.version, e.height); }
    std::uint64_t version = 0, height = 0;
};

}  // namespace retrace::contracts
