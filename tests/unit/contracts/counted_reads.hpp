// SPDX-License-Identifier: MIT
// Counts how much of the state a call reads.
#pragma once

#include "contracts/executor.hpp"

namespace retrace::contracts {

/// A view that counts reads.
class CountedReads final : public ledger::StateView {
public:
    explicit CountedReads(const ledger::StateView& under) : under_(under) {}
    ledger::Account account(const ledger::Address& address) const override { return under_.account(address); }
    Bytes slot(const ledger::Address& contract, View key) const override {
        const Bytes found = under_.slot(contract, key);
        ++reads;
        bytes += found.size();
        return found;
    }
    mutable std::size_t reads = 0, bytes = 0;

private:
    const ledger::StateView& under_;
};

}  // namespace retrace::contracts
