// SPDX-License-Identifier: MIT
// How much one client may ask for: a bucket of tokens for each address, filled at a steady rate.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace retrace::node::rpc {

/// Thread-safe. Remembers a bounded number of clients; those over it share one bucket.
class RateLimiter {
public:
    using Clock = std::chrono::steady_clock;

    /// `per_second` = 0: no limit. Buckets begin full, with `burst` tokens.
    RateLimiter(double per_second, double burst, std::size_t clients = 65'536)
        : per_second_(per_second), burst_(burst), clients_(clients), shared_{burst, {}} {}

    /// Takes a token of `client`; false when it has none left.
    bool take(const std::string& client, Clock::time_point now);
    /// Takes `tokens` for work that was done, also those that are not there: the client waits until the debt
    /// is paid, a minute at most.
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

/// One client's side of a limiter, for the length of a connection.
class Allowance {
public:
    /// `limiter` outlives this; nullptr: no limit.
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
