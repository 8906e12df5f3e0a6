// SPDX-License-Identifier: MIT
#include "node/server/http/feed.hpp"

namespace retrace::node::rpc {

void Feed::subscribe(const std::map<std::string, std::shared_ptr<const Subscribed>>& all) {
    auto table = std::make_shared<Table>();
    pending_ = false;
    for (const auto& [id, subscribed] : all) {
        std::uint64_t since = first_ + events_.size();
        if (table_) {
            const auto known = table_->find(id);
            if (known != table_->end()) since = known->second.since;
        }
        table->emplace(id, Subscriber{subscribed, since});
        pending_ = pending_ || subscribed->what.kind == Subscription::Kind::pending_txs;
    }
    table_ = std::move(table);
}

Feed::Added Feed::add(const std::shared_ptr<Event>& event) {
    if (!table_ || (event->is_pending() && !pending_)) return Added::unwanted;
    if (events_.size() >= events_max_ || (!events_.empty() && bytes_ + event->bytes() > bytes_max_))
        return Added::too_many;
    events_.push_back(event);
    bytes_ += event->bytes();
    return Added::waits;
}

std::optional<Feed::Next> Feed::take() {
    if (events_.empty()) return std::nullopt;
    Next out{std::move(events_.front()), table_, first_++};
    events_.pop_front();
    bytes_ -= out.event->bytes();
    return out;
}

void Feed::clear() {
    first_ += events_.size();
    events_.clear();
    bytes_ = 0;
}

void Feed::forget() {
    clear();
    table_ = nullptr;
    pending_ = false;
}

}  // namespace retrace::node::rpc
