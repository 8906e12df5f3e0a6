// SPDX-License-Identifier: MIT
#include "node/server/dial_back.hpp"

#include <algorithm>
#include <boost/asio/ip/address.hpp>

#include "node/net/reach.hpp"

namespace retrace::node {
namespace {

/// The address, or the /64 network of an IPv6 address, which one party usually has as a whole.
std::string key_of(const std::string& address) {
    boost::system::error_code code;
    const auto parsed = boost::asio::ip::make_address(address, code);
    if (code || !parsed.is_v6()) return address;
    auto bytes = parsed.to_v6().to_bytes();
    std::fill(bytes.begin() + 8, bytes.end(), 0);
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
    Attempt wanted{address, named.value_or(Url{address, std::to_string(port), false, {}}), nonce, now};
    const std::string key = key_of(address);
    const std::lock_guard lock(mutex_);
    forget_old(now);
    const auto last = attempts_.find(key);
    if (last != attempts_.end() && last->second == wanted) {
        const Attempt& attempt = last->second;
        if (!attempt.reached || (!*attempt.reached && now < attempt.begun + options_.told)) return Outcome::dialling;
        return *attempt.reached ? Outcome::reached : Outcome::not_reached;
    }
    // Not before an answer about the last one would tell: how soon another is taken must not say how it ended.
    const auto is_told = [&](const Attempt& attempt) {
        return attempt.reached && now >= attempt.begun + options_.told;
    };
    if (last != attempts_.end() && (!is_told(last->second) || now < last->second.asked + options_.pause))
        return error("this address had an attempt a moment ago: ask again in " +
                     std::to_string(options_.pause / std::chrono::seconds(1)) + " seconds");
    if (waiting_.size() >= options_.waiting)
        return error("this node connects back to many others now: ask again in a minute");
    if (last == attempts_.end() && attempts_.size() >= options_.addresses) forget_one();
    attempts_[key] = std::move(wanted);
    waiting_.push_back(key);
    wake_.notify_one();
    return Outcome::dialling;
}

void DialBack::forget_old(Clock::time_point now) {
    std::erase_if(attempts_,
                  [&](const auto& entry) { return entry.second.reached && entry.second.asked + options_.kept < now; });
}

void DialBack::forget_one() {
    const auto is_older = [](const auto& a, const auto& b) {
        if (a.second.reached.has_value() != b.second.reached.has_value()) return a.second.reached.has_value();
        return a.second.asked < b.second.asked;
    };
    attempts_.erase(std::min_element(attempts_.begin(), attempts_.end(), is_older));
}

void DialBack::run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (wake_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
        const std::string key = waiting_.front();
        waiting_.pop_front();
        Attempt& attempt = attempts_.at(key);  // It stays until it has ended.
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
