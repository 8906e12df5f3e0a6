// SPDX-License-Identifier: MIT
#include "node/cmd/demo/supply.hpp"

#include "contracts/calls/addresses.hpp"
#include "ledger/state/supply.hpp"

namespace retrace::node {

Supply supply_of(const ledger::StateView& state, const std::vector<ledger::Address>& accounts) {
    Supply out;
    for (const ledger::Address& account : accounts) out.held += state.account(account).balance;
    for (const contracts::Contract contract : contracts::kContracts)
        out.held += state.account(contracts::address_of(contract)).balance;
    out.held += state.account(ledger::Address{}).balance;
    out.burned = ledger::burned(state);
    out.minted = ledger::minted(state);
    return out;
}

}  // namespace retrace::node
