// SPDX-License-Identifier: MIT
// What happened and a connection was not told of yet.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "node/server/http/event.hpp"

namespace retrace::node::rpc {

/// Events in order, and the subscriptions that are told of them. Only the subscriptions that there are now are kept:
/// what was unsubscribed is gone at once, however many events wait. Not thread-safe.
class Feed {
public:
    struct Subscriber {
        std::shared_ptr<const Subscribed> subscribed;
        std::uint64_t since = 0;  ///< Number of the first event that it is told of.
    };
    using Table = std::map<std::string, Subscriber>;
    struct Next {
        std::shared_ptr<Event> event;
        std::shared_ptr<const Table> table;
        std::uint64_t number = 0;

        bool is_for(const Subscriber& subscriber) const noexcept { return subscriber.since <= number; }
    };
    enum class Added : std::uint8_t { unwanted, waits, too_many };

    /// Of how many events, and of how much memory, a connection may be behind; but of one in any case.
    Feed(std::size_t events, std::size_t bytes) : events_max_(events), bytes_max_(bytes) {}

    /// These from now on, and no others. Events that wait are told to those of them that were here before.
    void subscribe(const std::map<std::string, std::shared_ptr<const Subscribed>>& all);
    Added add(const std::shared_ptr<Event>& event);
    std::optional<Next> take();
    /// The events; `forget` the subscriptions too.
    void clear();
    void forget();

    bool empty() const noexcept { return events_.empty(); }
    std::size_t size() const noexcept { return events_.size(); }
    std::size_t bytes() const noexcept { return bytes_; }

private:
    const std::size_t events_max_, bytes_max_;
    std::shared_ptr<const Table> table_;  // nullptr: nothing was subscribed to yet
    bool pending_ = false;                // whether there is one of pending transactions
    std::deque<std::shared_ptr<Event>> events_;
    std::uint64_t first_ = 0;  // number of the first of them
    std::size_t bytes_ = 0;
};

}  // namespace retrace::node::rpc
