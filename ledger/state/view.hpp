// SPDX-License-Identifier: MIT
// The state that rules may read. It consists of accounts and of storage slots of native contracts (key → bytes). Both
// are leaves of the sparse state tree (ledger/SPEC.md).
#pragma once

#include <optional>

#include "ledger/types/address.hpp"
#include "ledger/types/u256.hpp"
#include "merkle/base/bytes.hpp"

namespace retrace::ledger {

struct Account {
    std::uint64_t nonce = 0;
    U256 balance;
    bool operator==(const Account&) const = default;
};

/// Read access to one consistent state. Implementations: the committed state (RocksDB snapshot), `State` (journaled
/// overlay while a block executes), and a remote one over JSON-RPC (node/agents) that agents use.
class StateView {
public:
    virtual ~StateView() = default;
    /// Returns the zero account for an address that was never touched.
    virtual Account account(const Address& address) const = 0;
    /// Returns the slot's bytes; empty when it is absent (an empty value is the same as absence).
    virtual Bytes slot(const Address& contract, View key) const = 0;
};

inline U256 balance_of(const StateView& view, const Address& a) { return view.account(a).balance; }

}  // namespace retrace::ledger
