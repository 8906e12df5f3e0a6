// SPDX-License-Identifier: MIT
// The developer chain: the keys and balances that every Ethereum tool expects of one.
#pragma once

#include "ledger/chain/genesis.hpp"

namespace retrace::node {

inline constexpr std::uint64_t kDevChainId = 7298;
inline constexpr const char* kDevMnemonic = "test test test test test test test test test test test junk";
inline constexpr std::uint32_t kDevAccounts = 10;
inline constexpr std::uint64_t kDevCoins = 1'000'000;  ///< Balance of each account, in coins.

/// Encodes to the same bytes on every machine. `contracts` is the contracts' genesis section.
ledger::Genesis dev_genesis(Bytes contracts);

}  // namespace retrace::node
