// SPDX-License-Identifier: MIT
// Initial contents of a chain. SPEC 5.1.
#pragma once

#include <map>
#include <vector>

#include "ledger/exec/validator.hpp"
#include "ledger/types/address.hpp"
#include "ledger/types/u256.hpp"
#include "merkle/base/codec.hpp"

namespace retrace::ledger {

inline constexpr std::uint64_t kChainIdMax = 4'503'599'627'370'476;          ///< MetaMask's limit.
inline constexpr std::uint64_t kGasLimitMax = (std::uint64_t{1} << 53) - 1;  ///< JavaScript's largest safe integer.

struct Genesis {
    std::uint64_t chain_id = 0;
    std::uint64_t time_ns = 0;
    std::uint64_t gas_limit = 400'000'000;  ///< Gas limit of every block; half of it is the base fee's target.
    U256 base_fee = 1'000'000'000;          ///< Base fee of block 0, and the minimum of every later block.
    std::map<Address, U256> alloc;          ///< Balances at height 0; their sum is the supply.
    Bytes contracts;                        ///< Argument of TxExecutor::genesis.
    /// Empty for a chain with the embedded engine. At most kValidatorsMax, in the order of their keys.
    std::vector<Validator> validators;
    Bytes validator_rules;  ///< Argument of TxExecutor::genesis_validators; empty without validators.
};

Bytes encode(const Genesis& genesis);
/// At most 1,000,000 allocations and 16 MiB of contract records; errors name values that are out of range.
Result<Genesis> decode_genesis(View bytes);
/// Checks that chain id, gas limit and base fee are in range, that the allocations sum to less than 2^256, and that no
/// validator's key repeats.
Status<> check(const Genesis& genesis);
/// SHA-256 of "retrace/genesis/1" and the encoding: identifies the chain of a data directory.
Hash32 genesis_hash(const Genesis& genesis);

}  // namespace retrace::ledger
