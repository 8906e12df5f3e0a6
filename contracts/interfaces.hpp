// SPDX-License-Identifier: MIT
// The public interface of the contracts as ABI JSON and Solidity source, made from the tables that decode calls. The
// files in abi/ hold these strings; a test compares them (SPEC 3.7).
#pragma once

#include <string>

#include "contracts/calls/addresses.hpp"

namespace retrace::abi {

/// Returns Ethereum's contract ABI JSON: functions, views, events and the error Refused, one entry per line.
std::string abi_json(contracts::Contract contract);
/// Returns a Solidity interface with the structs that it needs.
std::string solidity(contracts::Contract contract);

}  // namespace retrace::abi
