// SPDX-License-Identifier: MIT
// Whether no coin of a demo's chain came from nothing or is lost.
#pragma once

#include <vector>

#include "node/agents/remote_state.hpp"

namespace retrace::node {

struct Supply {
    ledger::U256 held;  ///< Of the accounts, the contracts and the zero address.
    ledger::U256 burned, minted;
    bool conserved() const { return held + burned == minted; }
};
/// `accounts`: all that the genesis funds.
Supply supply_of(const ledger::StateView& state, const std::vector<ledger::Address>& accounts);

}  // namespace retrace::node
