// SPDX-License-Identifier: MIT
// Polled filters: eth_newFilter and its relatives. They remember where they are, not events: what is new is
// looked up when somebody asks.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
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
    std::uint64_t next = 0;  ///< First of the store's pending transactions that was not told yet.
};
using FilterState = std::variant<LogFilterState, BlockFilterState, PendingFilterState>;

/// Thread-safe. A filter whose changes nobody asks for in five minutes is gone. A client that makes too many
/// loses its own that was unused longest; when all clients together hold too many, the one that holds most
/// does. Of the pending transactions the newest are kept, once for all filters.
class FilterStore {
public:
    using Clock = std::function<std::chrono::steady_clock::time_point()>;
    static constexpr std::chrono::minutes kLife{5};
    static constexpr std::size_t kFiltersMax = 1024;
    static constexpr std::size_t kFiltersPerClient = 128;
    static constexpr std::size_t kPendingMax = 10'000;

    explicit FilterStore(Clock clock = std::chrono::steady_clock::now) : clock_(std::move(clock)) {}

    /// An id that cannot be guessed. Clients without a name, who are on this machine, count as one without a
    /// limit of its own.
    std::string add(FilterState state, const std::string& client);
    std::string add_pending(const std::string& client);
    bool remove(const std::string& id);
    /// Runs `use` on the filter's state and counts as a use; false when there is no such filter. Only calls
    /// for the same filter wait for `use`.
    bool with(const std::string& id, const std::function<void(FilterState&)>& use);
    /// What a log filter looks for; nullopt when there is no such filter. Keeps nothing alive.
    std::optional<LogQuery> query_of(const std::string& id);
    void on_pending(const Hash32& hash);
    /// The pending transactions that the filter was not told of; now it was.
    std::vector<Hash32> take_pending(PendingFilterState& state);

private:
    struct Entry {
        std::string client;
        std::chrono::steady_clock::time_point used;
        // The state has a lock of its own: a search may take seconds, and the others' filters and the
        // transactions that come in meanwhile must not wait for it.
        std::mutex mutex;
        FilterState state;
    };
    using Entries = std::map<std::string, std::shared_ptr<Entry>>;

    void drop_expired();
    void make_room(const std::string& client);
    void drop_oldest_of(const std::string& client);
    void erase(Entries::iterator entry);

    Clock clock_;
    std::mutex mutex_;  // guards the members below, but not the entries' states
    Entries filters_;
    std::map<std::string, std::size_t> held_;  // client → its filters
    std::deque<Hash32> pending_;
    std::uint64_t first_pending_ = 0;  // number of the first in `pending_`
};

/// "0x" and 32 random hex digits; for filters and subscriptions.
std::string random_id();

}  // namespace retrace::node::rpc
