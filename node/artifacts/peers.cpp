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

bool PeerBook::left_alone(const std::string& peer, PeerClock::time_point now) const {
    const auto found = standings_.find(peer);
    return found != standings_.end() && now < found->second.until;
}

void PeerBook::failed(const std::string& peer, PeerClock::time_point now, PeerClock::duration waited) {
    const auto is_over = [&](const auto& one) { return one.second.until < now; };
    if (standings_.size() >= kPeersMax) std::erase_if(standings_, is_over);
    if (standings_.size() >= kPeersMax) return;  // The table is full of skipped peers; this one is not recorded now.
    Standing& standing = standings_[peer];
    const auto pause = std::max(4 * waited, kShortest) * (1u << std::min(standing.failures, kDoublingsMax));
    standing.until = now + std::min(pause, kLongest);
    standing.probation = false;
    ++standing.failures;
}

void PeerBook::end_pause(const std::string& peer, PeerClock::time_point now) {
    const auto found = standings_.find(peer);
    if (found == standings_.end() || found->second.until <= now) return;
    found->second.until = now;
    found->second.probation = true;
}

bool PeerBook::on_probation(const std::string& peer) const {
    const auto found = standings_.find(peer);
    return found != standings_.end() && found->second.probation;
}

}  // namespace retrace::node
