// SPDX-License-Identifier: MIT
// Members of a Chain; included by its source files only.
#pragma once

#include <deque>
#include <mutex>

#include "ledger/chain/chain.hpp"
#include "ledger/chain/committed_view.hpp"
#include "ledger/chain/records.hpp"

namespace retrace::ledger {

struct Chain::Impl {
    Impl(Store& s, const TxExecutor& e, Genesis g, ChainOptions o)
        : store(s), executor(e), genesis(std::move(g)), options(o), live(s), pages(s) {}

    Store& store;
    const TxExecutor& executor;
    const Genesis genesis;
    const ChainOptions options;
    const LiveView live;

    // Used by the committing thread only.
    PageSource pages;
    TipRecord tip_record;
    bool failed = false;

    // Read by any thread. `writing` runs ahead of `height` while a batch is being written.
    std::atomic<std::uint64_t> writing{0};
    std::atomic<std::uint64_t> height{0};
    std::atomic<std::uint64_t> oldest_state{0};
    std::atomic<std::uint64_t> oldest_pages{0};
    std::atomic<std::uint64_t> oldest_block{0};

    mutable std::mutex mutex;  // guards the members below
    std::shared_ptr<const Block> tip;
    std::deque<std::shared_ptr<const Block>> recent;  // the last few blocks, ascending, including the tip

    /// Call before writing the batch that erases what `record` no longer keeps: a reader that still finds its height
    /// kept after a read has then read existing data.
    void forget(const TipRecord& record);
    void publish(const TipRecord& record, std::shared_ptr<const Block> block);
};

}  // namespace retrace::ledger
