// SPDX-License-Identifier: MIT
#include "node/server/config/dev_chain.hpp"

#include "node/wallet/mnemonic.hpp"

namespace retrace::node {

ledger::Genesis dev_genesis(Bytes contracts) {
    ledger::Genesis genesis;
    genesis.chain_id = kDevChainId;
    genesis.time_ns =
        1'767'225'600ULL * 1'000'000'000;  // 2026-01-01, so that all developer chains have the same genesis
    genesis.contracts = std::move(contracts);
    const ledger::U256 coins = ledger::U256{kDevCoins} * ledger::U256{1'000'000'000'000'000'000};
    for (std::uint32_t i = 0; i < kDevAccounts; ++i) {
        auto key = wallet::account_key(kDevMnemonic, "", i);
        ensure(key.has_value(), "the developers' mnemonic is valid");
        genesis.alloc[key->address()] = coins;
    }
    return genesis;
}

}  // namespace retrace::node
