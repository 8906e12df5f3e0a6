// SPDX-License-Identifier: MIT
// Rate limiter: a token bucket for each client, refilled at a steady rate.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace retrace::node::rpc {

/// Thread-safe. Tracks a bounded number of clients; clients beyond that number share one bucket.
class RateLimiter {
public:
    using Clock = std::chrono::steady_clock;

    /// `per_second` = 0: no limit. A new bucket is full: it holds `burst` tokens.
    RateLimiter(double per_second, double burst, std::size_t clients = 65'536)
        : per_second_(per_second), burst_(burst), clients_(clients), shared_{burst, {}} {}

    /// Takes a token of `client`; returns false if it has none left.
    bool take(const std::string& client, Clock::time_point now);
    /// Takes `tokens` for work that was done. The bucket may become negative: the client then has to wait until it is
    /// refilled, a minute at most.
    void charge(const std::string& client, double tokens, Clock::time_point now);

private:
    struct Bucket {
        double tokens = 0;
        Clock::time_point filled;
    };
    void fill(Bucket& bucket, Clock::time_point now) const;
    Bucket& bucket_of(const std::string& client, Clock::time_point now);

    const double per_second_;
    const double burst_;
    const std::size_t clients_;
    std::mutex mutex_;
    std::map<std::string, Bucket> buckets_;
    Bucket shared_;
};

/// Applies a limiter to one client, for the duration of a connection.
class Allowance {
public:
    /// `limiter` outlives the allowance; nullptr: no limit.
    Allowance(RateLimiter* limiter, std::string client) : limiter_(limiter), client_(std::move(client)) {}
    bool take() { return limiter_ == nullptr || limiter_->take(client_, RateLimiter::Clock::now()); }
    void charge(double tokens) {
        if (limiter_ != nullptr) limiter_->charge(client_, tokens, RateLimiter::Clock::now());
    }

private:
    RateLimiter* limiter_;
    std::string client_;
};

}  // namespace retrace::node::rpc
