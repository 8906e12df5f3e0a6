// SPDX-License-Identifier: MIT
// From calldata to the three phases of a rule.
#pragma once

#include <string>

#include "contracts/lifecycle/effects.hpp"

namespace retrace::contracts {

struct Outcome {
    Verdict verdict = Verdict::ok;
    std::string detail;            ///< Added to the verdict's sentence: what exactly is malformed.
    std::uint64_t gas = 0;
};
/// What 4.1 and 4.4 make a call with this calldata cost, a malformed one included; one that has less costs all of it.
std::uint64_t gas_needed(Contract contract, View data);
/// Decodes, checks, admits, moves the value and applies. Nothing is written unless the verdict is ok.
Outcome dispatch(Contract contract, const ledger::Call& call, Effects& fx);

}  // namespace retrace::contracts
