// SPDX-License-Identifier: MIT
// Dispatches calldata to the three phases of a rule.
#pragma once

#include <string>

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

struct Outcome {
    CallStatus status = CallStatus::ok;
    std::string detail;  ///< Added to the status's sentence: the exact defect.
    std::uint64_t gas = 0;
    bool is_free = false;  ///< No base fee is due for it. SPEC 4.5
};
/// Returns the gas that a call with this calldata costs by 4.1 and 4.4, malformed calls included. A call with less gas
/// loses all of it.
std::uint64_t gas_needed(Contract contract, View data);
/// Whether the call of the staking contract is a reveal that this height's beacon waits for, and would be accepted.
bool is_awaited_reveal(const ledger::Call& call, std::uint64_t height, const StateView& view);
/// Decodes, checks, admits, moves the value and applies. Nothing is written unless the status is ok.
Outcome dispatch(Contract contract, const ledger::Call& call, Effects& fx);

}  // namespace retrace::contracts
