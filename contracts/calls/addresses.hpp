// SPDX-License-Identifier: MIT
// Addresses of the native contracts. SPEC 1.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "ledger/types/address.hpp"

namespace retrace::contracts {

/// Number 6 is not used yet.
enum class Contract : std::uint8_t { staking = 1, market = 2, audits = 3, disputes = 4, validators = 5, groups = 7 };
inline constexpr std::array kContracts = {Contract::staking,  Contract::market,     Contract::audits,
                                          Contract::disputes, Contract::validators, Contract::groups};

/// 0x…1001 to 0x…1005, and 0x…1007.
constexpr ledger::Address address_of(Contract contract) {
    ledger::Address out;
    out.bytes[18] = 0x10;
    out.bytes[19] = static_cast<std::uint8_t>(contract);
    return out;
}

/// Name of the Solidity interface: "IStaking" …
constexpr std::string_view interface_name(Contract contract) {
    switch (contract) {
        case Contract::staking: return "IStaking";
        case Contract::market: return "IMarket";
        case Contract::audits: return "IAudits";
        case Contract::disputes: return "IDisputes";
        case Contract::validators: return "IValidators";
        case Contract::groups: return "IGroups";
    }
    return "";
}

}  // namespace retrace::contracts
