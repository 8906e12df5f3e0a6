// SPDX-License-Identifier: MIT
// Polled filters: eth_newFilter and its relatives. They remember where they are, not events: what is new is
// looked up when somebody asks.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "node/server/methods/log_filter.hpp"

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

/// Thread-safe. A filter whose changes nobody asks for in five minutes is gone, and until then its holder keeps it,
/// however many others are made: who has no room left gets no more. A holder is an address, or this machine with all
/// its programs, which has room of its own. Only when strangers have no room left together, a newcomer takes that of
/// the longest unused of whoever holds most, if that is more than it will hold itself. Of the pending transactions the
/// newest are kept, once for all filters.
class FilterStore {
public:
    using Clock = std::function<std::chrono::steady_clock::time_point()>;
    static constexpr std::chrono::minutes kLife{5};
    /// A filter costs nothing but memory, so that is what is counted: this for each, and what it looks for.
    static constexpr std::size_t kBytesEach = 512;
    static constexpr std::size_t kBytesMax = std::size_t{32} << 20;  ///< Of all holders with a name.
    static constexpr std::size_t kBytesPerClient = std::size_t{4} << 20;
    static constexpr std::size_t kBytesLocal = std::size_t{32} << 20;  ///< Of this machine.
    static constexpr std::size_t kPendingMax = 10'000;

    explicit FilterStore(Clock clock = std::chrono::steady_clock::now) : clock_(std::move(clock)) {}

    /// An id that cannot be guessed; an empty string when there is no place. The holder without a name is this machine.
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
        std::list<std::string>::iterator turn, own_turn;  ///< Its id in `by_use_`, of all and of its holder.
        // The state has a lock of its own: a search may take seconds, and the others' filters and the
        // transactions that come in meanwhile must not wait for it.
        std::mutex mutex;
        FilterState state;
    };
    using Entries = std::map<std::string, std::shared_ptr<Entry>>;

    struct Holding {
        std::size_t bytes = 0;
        std::list<std::string> by_use;
    };

    void drop_expired();
    /// For one of that many bytes; false when nobody has to give anything up for it.
    bool make_room(const std::string& holder, std::size_t bytes);
    void count_use(Entry& entry);
    void erase(Entries::iterator entry);

    Clock clock_;
    std::mutex mutex_;  // guards the members below, but not the entries' states
    Entries filters_;
    std::list<std::string> by_use_;        // the longest unused first
    std::map<std::string, Holding> held_;  // of those that have a filter
    std::size_t bytes_ = 0;                // of holders with a name
    std::deque<Hash32> pending_;
    std::uint64_t first_pending_ = 0;  // number of the first in `pending_`
};

/// "0x" and 32 random hex digits; for filters and subscriptions.
std::string random_id();

}  // namespace retrace::node::rpc
