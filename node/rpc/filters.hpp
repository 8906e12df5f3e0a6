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

/// Thread-safe. A filter whose changes nobody asks for in five minutes is gone. A holder is an address, or a single
/// connection of this machine, where one program must not cost another its filters. Who makes too many loses its own
/// that was unused longest; when all holders together have too many, the one that has most does, and who has none
/// takes at most the place of one that nobody asked for in a minute. Of the pending transactions the newest are kept,
/// once for all filters.
class FilterStore {
public:
    using Clock = std::function<std::chrono::steady_clock::time_point()>;
    static constexpr std::chrono::minutes kLife{5};
    static constexpr std::chrono::minutes kIdle{1};  ///< After that a filter is anybody's who has none.
    static constexpr std::size_t kFiltersMax = 1024;
    static constexpr std::size_t kFiltersPerClient = 128;
    static constexpr std::size_t kBytesMax = std::size_t{32} << 20;  ///< Of what they look for.
    static constexpr std::size_t kBytesPerClient = std::size_t{4} << 20;
    static constexpr std::size_t kPendingMax = 10'000;

    explicit FilterStore(Clock clock = std::chrono::steady_clock::now) : clock_(std::move(clock)) {}

    /// An id that cannot be guessed; an empty string when there is no place. A holder without a name has no limits of
    /// its own.
    std::string add(FilterState state, const std::string& holder);
    std::string add_pending(const std::string& holder);
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
        std::string holder;
        std::size_t bytes = 0;
        std::chrono::steady_clock::time_point used;
        std::uint64_t turn = 0;  ///< Of that use among all: two may come in one moment.
        // The state has a lock of its own: a search may take seconds, and the others' filters and the
        // transactions that come in meanwhile must not wait for it.
        std::mutex mutex;
        FilterState state;
    };
    using Entries = std::map<std::string, std::shared_ptr<Entry>>;

    struct Holding {
        std::size_t filters = 0, bytes = 0;
    };

    void drop_expired();
    /// For one of that many bytes; false when nobody has to give anything up for it.
    bool make_room(const std::string& holder, std::size_t bytes);
    Holding holding_of(const std::string& holder) const;
    /// The longest unused, of a holder or of all; the end when there is none.
    Entries::iterator oldest(const std::string* holder);
    void erase(Entries::iterator entry);

    Clock clock_;
    std::mutex mutex_;  // guards the members below, but not the entries' states
    Entries filters_;
    std::map<std::string, Holding> held_;  // of those that have a filter
    std::size_t bytes_ = 0;
    std::uint64_t turns_ = 0;
    std::deque<Hash32> pending_;
    std::uint64_t first_pending_ = 0;  // number of the first in `pending_`
};

/// "0x" and 32 random hex digits; for filters and subscriptions.
std::string random_id();

}  // namespace retrace::node::rpc
