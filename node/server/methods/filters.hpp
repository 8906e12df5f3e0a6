// SPDX-License-Identifier: MIT
// Polled filters: eth_newFilter and its relatives. A filter stores a position, not events; new events are looked up
// when it is polled.
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
    std::uint64_t next_height = 0;  ///< First height that was not returned yet.
};
struct BlockFilterState {
    std::uint64_t next_height = 0;
};
struct PendingFilterState {
    std::uint64_t next = 0;  ///< First pending transaction of the store that was not returned yet.
};
using FilterState = std::variant<LogFilterState, BlockFilterState, PendingFilterState>;

/// Thread-safe. A filter expires when it is not polled for five minutes. Until then it is kept, however many others are
/// created: a holder that has used up its memory gets no more filters. A holder is an address, or this machine with all
/// its programs, which has a quota of its own. When all addresses together have reached their limit, a new filter
/// evicts the least recently used filter of the largest holder, if that holds more than the new filter's holder then
/// will. The newest pending transactions are kept once for all filters.
class FilterStore {
public:
    using Clock = std::function<std::chrono::steady_clock::time_point()>;
    static constexpr std::chrono::minutes kLife{5};
    /// Quotas count memory, the only cost of a filter: this for each filter, plus its addresses and topics.
    static constexpr std::size_t kBytesEach = 512;
    static constexpr std::size_t kBytesMax = std::size_t{32} << 20;  ///< For all named holders together.
    static constexpr std::size_t kBytesPerClient = std::size_t{4} << 20;
    static constexpr std::size_t kBytesLocal = std::size_t{32} << 20;  ///< For this machine.
    static constexpr std::size_t kPendingMax = 10'000;

    explicit FilterStore(Clock clock = std::chrono::steady_clock::now) : clock_(std::move(clock)) {}

    /// Returns an id that cannot be guessed; an empty string if there is no room. The unnamed holder is this machine.
    std::string add(FilterState state, const std::string& holder);
    std::string add_pending(const std::string& holder);
    bool remove(const std::string& id);
    /// Runs `use` on the filter's state and renews the filter; returns false if there is no such filter. Only calls for
    /// the same filter wait for `use`.
    bool with(const std::string& id, const std::function<void(FilterState&)>& use);
    /// The query of a log filter; nullopt if there is no such filter. Does not renew the filter.
    std::optional<LogQuery> query_of(const std::string& id);
    void on_pending(const Hash32& hash);
    /// Returns the pending transactions since the last call for this filter and advances `state`.
    std::vector<Hash32> take_pending(PendingFilterState& state);

private:
    struct Entry {
        std::string holder;
        std::size_t bytes = 0;
        std::chrono::steady_clock::time_point used;
        std::list<std::string>::iterator turn, own_turn;  ///< Its id in the store's and the holder's `by_use`.
        // Separate from the store's mutex: a search may take seconds, and other filters and new transactions must not
        // wait for it.
        std::mutex mutex;
        FilterState state;
    };
    using Entries = std::map<std::string, std::shared_ptr<Entry>>;

    struct Holding {
        std::size_t bytes = 0;
        std::list<std::string> by_use;
    };

    void drop_expired();
    /// Makes room for a filter of `bytes`, evicting others if needed; returns false if that is not allowed.
    bool make_room(const std::string& holder, std::size_t bytes);
    void count_use(Entry& entry);
    void erase(Entries::iterator entry);

    Clock clock_;
    std::mutex mutex_;  // guards the members below, but not the entries' states
    Entries filters_;
    std::list<std::string> by_use_;        // least recently used first
    std::map<std::string, Holding> held_;  // holders that have a filter
    std::size_t bytes_ = 0;                // bytes of all named holders
    std::deque<Hash32> pending_;
    std::uint64_t first_pending_ = 0;  // number of the first element of `pending_`
};

/// "0x" and 32 random hex digits; for filters and subscriptions.
std::string random_id();

}  // namespace retrace::node::rpc
