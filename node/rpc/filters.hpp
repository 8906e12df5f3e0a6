// SPDX-License-Identifier: MIT
// Polled filters: eth_newFilter and its relatives. They remember a height, not events: what is new is looked
// up when somebody asks.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "node/rpc/log_filter.hpp"

namespace retrace::node::rpc {

struct LogFilterState {
    LogQuery query;
    std::uint64_t next_height = 0;  ///< First height that was not told yet.
};
struct BlockFilterState {
    std::uint64_t next_height = 0;
};
struct PendingFilterState {
    std::vector<Hash32> hashes;  ///< Since the last question; the oldest go when there are too many.
};
using FilterState = std::variant<LogFilterState, BlockFilterState, PendingFilterState>;

/// Thread-safe. A filter that nobody asks about for five minutes is gone; of too many, the longest unused
/// goes.
class FilterStore {
public:
    using Clock = std::function<std::chrono::steady_clock::time_point()>;
    static constexpr std::chrono::minutes kLife{5};
    static constexpr std::size_t kFiltersMax = 1024;
    static constexpr std::size_t kPendingMax = 10'000;

    explicit FilterStore(Clock clock = std::chrono::steady_clock::now) : clock_(std::move(clock)) {}

    /// An id that cannot be guessed.
    std::string add(FilterState state);
    bool remove(const std::string& id);
    /// Runs `use` on the filter's state under the lock and counts as a use; false when there is no such
    /// filter.
    bool with(const std::string& id, const std::function<void(FilterState&)>& use);
    /// Adds a hash to every pending filter.
    void on_pending(const Hash32& hash);

private:
    struct Entry {
        FilterState state;
        std::chrono::steady_clock::time_point used;
    };
    void drop_expired();

    Clock clock_;
    std::mutex mutex_;
    std::map<std::string, Entry> filters_;
};

/// "0x" and 32 random hex digits; for filters and subscriptions.
std::string random_id();

}  // namespace retrace::node::rpc
