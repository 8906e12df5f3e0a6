// SPDX-License-Identifier: MIT
// The public face of the contracts, made from the same tables that decode calls: ABI JSON and Solidity source. The
// files beside this one are these strings; a test compares them (SPEC 3.7).
#pragma once

#include <string>

#include "contracts/calls/addresses.hpp"

namespace retrace::abi {

/// Ethereum's contract ABI JSON: functions, views, events and the error Refused, one entry a line.
std::string abi_json(contracts::Contract contract);
/// A Solidity interface with the structs that it needs.
std::string solidity(contracts::Contract contract);

}  // namespace retrace::abi
