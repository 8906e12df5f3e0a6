// SPDX-License-Identifier: MIT
#include "node/artifacts/uplink.hpp"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>

namespace retrace::node {
namespace {

constexpr std::uint32_t kQueueMax = 60'000;  ///< Microseconds; a delayed acknowledgement alone takes 40,000.

}  // namespace

ReplyKind reply_kind(std::string_view target) noexcept {
    constexpr std::size_t kName = std::string_view("/artifact/").size() + 64;
    if (!target.starts_with("/artifact/") || target.size() <= kName) return ReplyKind::small;
    const std::string_view what = target.substr(kName);
    if (what.starts_with("/packed?")) return ReplyKind::message;
    const bool bulk = what.starts_with("/tiles?") || what.starts_with("/leaves?") || what.starts_with("/program?");
    return bulk ? ReplyKind::bulk : ReplyKind::small;
}

bool is_behind_a_queue(int socket) noexcept {
    int in_flight = 0;
    tcp_info info{};
    socklen_t size = sizeof info;
    if (::ioctl(socket, SIOCOUTQ, &in_flight) != 0 || in_flight == 0) return false;
    if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;
    const bool measured = info.tcpi_min_rtt != 0 && info.tcpi_min_rtt != UINT32_MAX;
    return measured && info.tcpi_rtt > info.tcpi_min_rtt && info.tcpi_rtt - info.tcpi_min_rtt > kQueueMax;
}

bool may_yield(std::uint64_t written, std::chrono::steady_clock::duration elapsed, std::uint64_t drain_rate) noexcept {
    const auto had = std::chrono::milliseconds(1000 * written / (2 * drain_rate));
    return elapsed <= had;
}

void Uplink::advance(Time now) noexcept {
    const Time end = messages_ > 0 ? now : std::clamp(until_, last_, now);
    left_ -= std::min(left_, end - last_);
    left_ = std::min<std::chrono::steady_clock::duration>(left_ + (now - end), kHoldMax);
    last_ = now;
}

void Uplink::begin_message(Time now) noexcept {
    const std::lock_guard lock(mutex_);
    advance(std::max(now, last_));
    ++messages_;
}

void Uplink::end_message(Time now, std::uint64_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    advance(std::max(now, last_));
    --messages_;
    const std::uint64_t at_rate = 1000 * std::min<std::uint64_t>(bytes, kAfterRate) / kAfterRate;
    until_ = std::max(until_, last_ + std::min(kAfterMax, std::chrono::milliseconds(at_rate)));
}

bool Uplink::holds_bulk(Time now) noexcept {
    const std::lock_guard lock(mutex_);
    advance(std::max(now, last_));
    return (messages_ > 0 || last_ < until_) && left_.count() > 0;
}

}  // namespace retrace::node
