// SPDX-License-Identifier: MIT
#include "node/server/jsonrpc/rate_limit.hpp"

#include <algorithm>

namespace retrace::node::rpc {

void RateLimiter::fill(Bucket& bucket, Clock::time_point now) const {
    const std::chrono::duration<double> passed = now - bucket.filled;
    bucket.tokens = std::min(burst_, bucket.tokens + std::max(0.0, passed.count()) * per_second_);
    bucket.filled = now;
}

RateLimiter::Bucket& RateLimiter::bucket_of(const std::string& client, Clock::time_point now) {
    if (const auto found = buckets_.find(client); found != buckets_.end()) return found->second;
    if (buckets_.size() >= clients_) {
        // A full bucket is the same as a new one, so it can be dropped.
        std::erase_if(buckets_, [&](const auto& entry) {
            const std::chrono::duration<double> passed = now - entry.second.filled;
            return entry.second.tokens + passed.count() * per_second_ >= burst_;
        });
        if (buckets_.size() >= clients_) return shared_;
    }
    return buckets_.emplace(client, Bucket{burst_, now}).first->second;
}

bool RateLimiter::take(const std::string& client, Clock::time_point now) {
    if (per_second_ <= 0) return true;
    const std::lock_guard lock(mutex_);
    Bucket& bucket = bucket_of(client, now);
    fill(bucket, now);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
}

void RateLimiter::charge(const std::string& client, double tokens, Clock::time_point now) {
    constexpr double kDebtSeconds = 60;
    if (per_second_ <= 0) return;
    const std::lock_guard lock(mutex_);
    Bucket& bucket = bucket_of(client, now);
    fill(bucket, now);
    bucket.tokens = std::max(bucket.tokens - tokens, -kDebtSeconds * per_second_);
}

}  // namespace retrace::node::rpc
