// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <vector>

#include "ledger/state/state.hpp"

namespace retrace::ledger {

/// Caches reads from a slower view. Single-threaded; for the duration of one block.
class CachedView final : public StateView {
public:
    /// `base` outlives this and does not change.
    explicit CachedView(const StateView& base) : base_(base) {}

    /// Adds accounts that were read from the base already: `addresses` are ascending and distinct. Call it only before
    /// the first read.
    void remember(const std::vector<Address>& addresses, const std::vector<Account>& accounts);

    Account account(const Address& address) const override;
    Bytes slot(const Address& contract, View key) const override;

private:
    const StateView& base_;
    mutable std::map<Address, Account> accounts_;
    mutable SlotMap slots_;
};

}  // namespace retrace::ledger
