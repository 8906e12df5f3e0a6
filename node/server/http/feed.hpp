// SPDX-License-Identifier: MIT
// Queue of the events that a connection has not been sent yet.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "node/server/http/event.hpp"

namespace retrace::node::rpc {

/// Events in order, and the subscriptions that receive them. Only current subscriptions are kept: one that was removed
/// is dropped at once, however many events are queued. Not thread-safe.
class Feed {
public:
    struct Subscriber {
        std::shared_ptr<const Subscribed> subscribed;
        std::uint64_t since = 0;  ///< Number of the first event that it receives.
    };
    using Table = std::map<std::string, Subscriber>;
    struct Next {
        std::shared_ptr<Event> event;
        std::shared_ptr<const Table> table;
        std::uint64_t number = 0;

        bool is_for(const Subscriber& subscriber) const noexcept { return subscriber.since <= number; }
    };
    enum class Added : std::uint8_t { unwanted, waits, too_many };

    /// `events` and `bytes` limit the queue; a single event is accepted whatever its size.
    Feed(std::size_t events, std::size_t bytes) : events_max_(events), bytes_max_(bytes) {}

    /// Replaces the subscriptions. Queued events go only to those of them that were already subscribed.
    void subscribe(const std::map<std::string, std::shared_ptr<const Subscribed>>& all);
    Added add(const std::shared_ptr<Event>& event);
    std::optional<Next> take();
    /// Drops the events; `forget` drops the subscriptions too.
    void clear();
    void forget();

    bool empty() const noexcept { return events_.empty(); }
    std::size_t size() const noexcept { return events_.size(); }
    std::size_t bytes() const noexcept { return bytes_; }

private:
    const std::size_t events_max_, bytes_max_;
    std::shared_ptr<const Table> table_;  // nullptr: there was no subscription yet
    bool pending_ = false;                // whether one is for pending transactions
    std::deque<std::shared_ptr<Event>> events_;
    std::uint64_t first_ = 0;  // number of the first queued event
    std::size_t bytes_ = 0;
};

}  // namespace retrace::node::rpc
