// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <vector>

#include "ledger/state/state.hpp"

namespace retrace::ledger {

/// Remembers what was read from a slower view. One thread; for the length of one block.
class CachedView final : public StateView {
public:
    /// `base` outlives this and does not change.
    explicit CachedView(const StateView& base) : base_(base) {}

    /// Accounts of the base that somebody has read already: their addresses, ascending, none twice, and the accounts.
    /// Only on a view that has read nothing yet.
    void remember(const std::vector<Address>& addresses, const std::vector<Account>& accounts);

    Account account(const Address& address) const override;
    Bytes slot(const Address& contract, View key) const override;

private:
    const StateView& base_;
    mutable std::map<Address, Account> accounts_;
    mutable SlotMap slots_;
};

}  // namespace retrace::ledger
