// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>

#include "ledger/state/view.hpp"
#include "ledger/storage/store.hpp"

namespace retrace::ledger {

/// Reads the newest committed state. `store` outlives the view.
class LiveView final : public StateView {
public:
    explicit LiveView(const Store& store) : store_(store) {}

    Account account(const Address& address) const override;
    Bytes slot(const Address& contract, View key) const override;

private:
    const Store& store_;
};

/// The state after block `height`, read from the store while later blocks are being written. SPEC 5.4.3
class CommittedView final : public StateView {
public:
    /// `writing` is the height of the newest batch whose write has begun. Both references outlive the view.
    CommittedView(const Store& store, const std::atomic<std::uint64_t>& writing, std::uint64_t height)
        : store_(store), writing_(writing), height_(height) {}

    Account account(const Address& address) const override;
    /// Reads many accounts; `addresses` are ascending and distinct.
    std::vector<Account> accounts(std::span<const Address> addresses) const;
    Bytes slot(const Address& contract, View key) const override;

private:
    Bytes read(View state_key) const;
    Bytes as_of_height(View state_key, Bytes newest) const;

    const Store& store_;
    const std::atomic<std::uint64_t>& writing_;
    std::uint64_t height_;
};

}  // namespace retrace::ledger
