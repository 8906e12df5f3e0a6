// SPDX-License-Identifier: MIT
#include "node/artifacts/request_queue.hpp"

#include <algorithm>

namespace retrace::node {

bool RequestQueue::begin(Id id, const std::string& address) {
    const auto own = addresses_.try_emplace(address).first;
    const auto request = requests_.try_emplace(id, Request{own}).first;
    ++own->second.requests;
    if (own->second.waiting.empty() && may_handle(own->second)) {
        request->second.state = State::is_handled;
        own->second.handles = true;
        return true;
    }
    own->second.waiting.push_back(id);
    return false;
}

void RequestQueue::handled(Id id, std::size_t bytes) noexcept {
    const auto found = requests_.find(id);
    if (found == requests_.end()) return;
    Request& request = found->second;
    request.state = State::replies;
    request.bytes = bytes;
    request.order = ++replies_;
    request.address->second.handles = false;
    request.address->second.held += bytes;
    held_ += bytes;
}

void RequestQueue::release(Request& request) noexcept {
    request.address->second.held -= request.bytes;
    held_ -= request.bytes;
    request.bytes = 0;
}

std::optional<RequestQueue::Id> RequestQueue::drop(Id newest) noexcept {
    if (held_ <= limits_.total) return std::nullopt;
    const auto own = requests_.find(newest);
    auto worst = requests_.end();
    for (auto it = requests_.begin(); it != requests_.end(); ++it) {
        const Request& request = it->second;
        if (request.bytes == 0 || it == own) continue;
        if (worst == requests_.end()) {
            worst = it;
            continue;
        }
        const Request& other = worst->second;
        const std::size_t held = request.address->second.held, others = other.address->second.held;
        // Among equal ones the oldest goes: a peer that reads at a good rate does not keep its reply for long.
        const bool worse = held != others                 ? held > others
                           : request.bytes != other.bytes ? request.bytes > other.bytes
                                                          : request.order < other.order;
        if (worse) worst = it;
    }
    const bool own_is_most =
        own != requests_.end() &&
        (worst == requests_.end() || own->second.address->second.held > worst->second.address->second.held ||
         own->second.address == worst->second.address);
    if (own_is_most) worst = own;
    if (worst == requests_.end()) return std::nullopt;
    release(worst->second);
    return worst->first;
}

void RequestQueue::end(Id id) noexcept {
    const auto found = requests_.find(id);
    if (found == requests_.end()) return;
    Request& request = found->second;
    release(request);
    const auto own = request.address;
    if (request.state == State::is_handled) own->second.handles = false;
    if (request.state == State::waits) std::erase(own->second.waiting, id);
    requests_.erase(found);
    if (--own->second.requests == 0) addresses_.erase(own);
}

std::optional<RequestQueue::Id> RequestQueue::next(const std::string& address) noexcept {
    const auto own = addresses_.find(address);
    if (own == addresses_.end() || own->second.waiting.empty() || !may_handle(own->second)) return std::nullopt;
    const Id id = own->second.waiting.front();
    own->second.waiting.pop_front();
    own->second.handles = true;
    requests_.find(id)->second.state = State::is_handled;
    return id;
}

}  // namespace retrace::node
