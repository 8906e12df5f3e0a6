// SPDX-License-Identifier: MIT
#include "node/artifacts/peers.hpp"

#include <algorithm>

namespace retrace::node {
namespace {

constexpr std::size_t kPeersMax = 4096;
constexpr unsigned kDoublingsMax = 16;
constexpr PeerClock::duration kShortest = std::chrono::milliseconds(100);
constexpr PeerClock::duration kLongest = std::chrono::minutes(5);

}  // namespace

std::chrono::milliseconds TimeAllowance::allow(std::uint64_t bytes) {
    asked_ += bytes;
    const std::chrono::milliseconds in_all(1000 * (asked_ / floor_rate_) + 1000 * (asked_ % floor_rate_) / floor_rate_);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(grace_ + in_all - waited_);
    return std::max(left, std::chrono::milliseconds(0));
}

bool PeerBackoff::is_backing_off(const std::string& peer, PeerClock::time_point now) const {
    const auto found = entries_.find(peer);
    return found != entries_.end() && now < found->second.until;
}

void PeerBackoff::failed(const std::string& peer, PeerClock::time_point now, PeerClock::duration waited) {
    const auto is_over = [&](const auto& one) { return one.second.until < now; };
    if (entries_.size() >= kPeersMax) std::erase_if(entries_, is_over);
    if (entries_.size() >= kPeersMax) return;  // The table is full of skipped peers; this one is not recorded now.
    Entry& entry = entries_[peer];
    const auto pause = std::max(4 * waited, kShortest) * (1u << std::min(entry.failures, kDoublingsMax));
    entry.until = now + std::min(pause, kLongest);
    entry.retrying = false;
    ++entry.failures;
}

void PeerBackoff::end_pause(const std::string& peer, PeerClock::time_point now) {
    const auto found = entries_.find(peer);
    if (found == entries_.end() || found->second.until <= now) return;
    found->second.until = now;
    found->second.retrying = true;
}

bool PeerBackoff::retrying(const std::string& peer) const {
    const auto found = entries_.find(peer);
    return found != entries_.end() && found->second.retrying;
}

}  // namespace retrace::node
