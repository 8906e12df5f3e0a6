// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "ledger/chain/genesis.hpp"

namespace retrace::node {

/// Turns the file's "contracts" object (as JSON text; empty when absent) into the contracts' genesis bytes.
using EncodeContracts = std::function<Result<Bytes>(std::string_view json)>;

/// {"chainId": 7298, "timestamp": 1767225600, "gasLimit": 1000000000, "baseFeePerGas": "1000000000",
///  "alloc": {"0x…": {"balance": "1000000000000000000"}}, "contracts": {…},
///  "validators": [{"key": "<64 hex digits>", "vrfKey": "<66 hex digits>", "account": "0x…", "power": 1000}],
///  "validatorRules": {…}}
/// Validators are for the engine `comet` only and may stand in any order. Amounts are decimal strings in the smallest unit. chainId and alloc are required; unknown members are Errors.
Result<ledger::Genesis> parse_genesis(std::string_view json, const EncodeContracts& encode_contracts);
Result<ledger::Genesis> load_genesis(const std::string& path, const EncodeContracts& encode_contracts);

}  // namespace retrace::node
