// SPDX-License-Identifier: MIT
// What rules may read. Everything in the state is one of two things: an account, or a storage slot of a native
// contract: key → bytes. Both are leaves of the sparse state tree (ledger/SPEC.md).
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
    /// The zero account when it was never touched.
    virtual Account account(const Address& address) const = 0;
    /// The slot's bytes; empty when it is absent (an empty value and absence are the same thing).
    virtual Bytes slot(const Address& contract, View key) const = 0;
};

inline U256 balance_of(const StateView& view, const Address& a) { return view.account(a).balance; }

}  // namespace retrace::ledger
