// SPDX-License-Identifier: MIT
// A store that injects disk faults, for crash tests.
#pragma once

#include "ledger/storage/store.hpp"

namespace retrace::ledger {

/// Forwards everything to the store beneath until the n-th write. The next start finds the store beneath.
class FaultStore final : public Store {
public:
    enum class Fault : std::uint8_t {
        none = 0,
        fail,          ///< The n-th write is refused, nothing of it is written, and the machine is off afterwards.
        fail_written,  ///< The same, but all of it is written before the power fails.
        tear,          ///< Only the first `torn_ops` operations of the n-th batch are written, then the power fails.
        drop,          ///< The n-th write is acknowledged but lost, as by a lying disk. The machine stays on.
    };

    /// `beneath` outlives this. `nth` counts from 1.
    FaultStore(Store& beneath, Fault fault, std::uint64_t nth, std::size_t torn_ops = 0)
        : beneath_(beneath), fault_(fault), nth_(nth), torn_ops_(torn_ops) {}

    std::optional<Bytes> get(View key) const override { return beneath_.get(key); }
    void get_many(std::span<const Bytes> keys, const VisitOne& visit) const override { beneath_.get_many(keys, visit); }
    Status<> write(const Batch& batch, bool sync) override;
    void scan(View prefix, View from, std::size_t limit, const Visit& visit) const override {
        beneath_.scan(prefix, from, limit, visit);
    }
    std::shared_ptr<const Store> frozen() const override { return beneath_.frozen(); }

    bool off() const noexcept { return off_; }
    std::uint64_t writes() const noexcept { return writes_; }
    std::size_t last_ops() const noexcept { return last_ops_; }  ///< Operations of the last batch.

private:
    Store& beneath_;
    Fault fault_;
    std::uint64_t nth_;
    std::size_t torn_ops_;
    std::uint64_t writes_ = 0;
    std::size_t last_ops_ = 0;
    bool off_ = false;
};

}  // namespace retrace::ledger
