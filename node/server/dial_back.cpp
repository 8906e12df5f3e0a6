// SPDX-License-Identifier: MIT
#include "node/server/dial_back.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>

#include "node/net/reach.hpp"

namespace retrace::node {
namespace {

/// The address, or the network of an IPv6 address with a prefix of this many bytes. One party usually has a /64 (8
/// bytes) as a whole, and may have a /48 (6).
std::string network_of(const std::string& address, std::ptrdiff_t prefix) {
    boost::system::error_code code;
    const auto parsed = boost::asio::ip::make_address(address, code);
    if (code || !parsed.is_v6()) return address;
    auto bytes = parsed.to_v6().to_bytes();
    std::fill(bytes.begin() + prefix, bytes.end(), 0);
    return boost::asio::ip::make_address_v6(bytes).to_string();
}

}  // namespace

DialBack::DialBack(const Options& options) : options_(options) {
    for (std::size_t i = 0; i < options_.threads; ++i)
        threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
}

DialBack::~DialBack() {
    for (std::jthread& thread : threads_) thread.request_stop();
    threads_.clear();  // Joined before what they use is destroyed.
}

Result<DialBack::Outcome> DialBack::ask(const std::string& address, std::uint16_t port, const Hash32& nonce,
                                        const std::optional<Url>& named) {
    const auto now = Clock::now();
    Attempt wanted{address, named.value_or(Url{address, std::to_string(port), false, {}}), nonce,
                   network_of(address, 6), now};
    const std::string key = network_of(address, 8);
    const std::lock_guard lock(mutex_);
    forget_old(now);
    const auto last = attempts_.find(key);
    if (last != attempts_.end() && last->second == wanted) {
        const Attempt& attempt = last->second;
        if (attempt.reached && *attempt.reached) return Outcome::reached;
        return is_told(attempt, now) ? Outcome::not_reached : Outcome::dialling;
    }
    const auto of_network = std::ranges::count_if(attempts_, [&](const auto& entry) {
        return entry.second.network == wanted.network && holds_up(entry.second, now);
    });
    const bool has_one = last != attempts_.end() && holds_up(last->second, now);
    if (has_one || static_cast<std::size_t>(of_network) >= options_.per_network)
        return error("this address had an attempt a moment ago: ask again in " +
                     std::to_string(options_.pause / std::chrono::seconds(1)) + " seconds");
    if (waiting_.size() >= options_.waiting)
        return error("this node connects back to many others now: ask again in a minute");
    if (last == attempts_.end() && attempts_.size() >= options_.addresses) forget_one(now);
    attempts_[key] = std::move(wanted);
    waiting_.push_back(key);
    wake_.notify_all();  // One alone could be a thread that waits for the end of its attempt's time.
    return Outcome::dialling;
}

bool DialBack::is_told(const Attempt& attempt, Clock::time_point now) const {
    return attempt.reached && now >= attempt.begun + options_.told;
}

bool DialBack::holds_up(const Attempt& attempt, Clock::time_point now) const {
    // Until it is told: how soon another is taken must not say how this one ended.
    return !is_told(attempt, now) || now < attempt.asked + options_.pause;
}

void DialBack::forget_old(Clock::time_point now) {
    std::erase_if(attempts_, [&](const auto& entry) {
        return is_told(entry.second, now) && entry.second.asked + options_.kept < now;
    });
}

void DialBack::forget_one(Clock::time_point now) {
    const auto is_older = [&](const auto& a, const auto& b) {
        const bool a_told = is_told(a.second, now), b_told = is_told(b.second, now);
        if (a_told != b_told) return a_told;
        return a.second.asked < b.second.asked;
    };
    attempts_.erase(std::min_element(attempts_.begin(), attempts_.end(), is_older));
}

void DialBack::run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (wake_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
        const std::string key = waiting_.front();
        waiting_.pop_front();
        Attempt& attempt = attempts_.at(key);  // It stays until it is told.
        attempt.begun = Clock::now();
        const Attempt copy = attempt;
        lock.unlock();
        bool reached = false;
        try {
            reached = dial(copy, stop);
        } catch (const std::exception&) {  // No file descriptor is left, for example: it must not end the node.
        }
        lock.lock();
        attempt.reached = reached;
        wake_.wait_until(lock, stop, copy.begun + options_.told, [] { return false; });
    }
}

bool DialBack::dial(const Attempt& attempt, const std::stop_token& stop) const {
    HttpConnection connection(attempt.url, attempt.address);
    const kernels::StopToken until([&] { return stop.stop_requested(); });
    const auto reply = connection.exchange({"GET", std::string(kReachPath) + to_hex(view(attempt.nonce)), {}}, 1024,
                                           until.ending_after(options_.attempt));
    return reply && reply->status == 200 && to_bytes(view(reach_answer(attempt.nonce))) == reply->body;
}

}  // namespace retrace::node
