// SPDX-License-Identifier: MIT
// The order in which the replies of an artifact server use this machine's link: messages of rounds before states, and
// states behind everything else that this machine sends.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string_view>

namespace retrace::node {

/// What a reply is, as far as its turn on the link is concerned.
enum class ReplyKind : std::uint8_t {
    small = 1,    ///< Sent at once.
    message = 2,  ///< A part of a message of a round, for which all members of its group wait.
    bulk = 3,     ///< Tiles, hashes or a program: as many bytes as a state has, and nobody waits for a single reply.
};
ReplyKind reply_kind(std::string_view target) noexcept;

/// Bytes of a bulk reply that are given to the kernel at a time, and that it may hold unsent.
inline constexpr std::size_t kBulkChunk = 8 << 10;

/// Whether a bulk reply should wait before its next chunk: the round trip takes 60 ms longer than its shortest one, so
/// the link has a queue in which this machine's own calls would wait. A connection with nothing in flight never waits.
/// (The rule of LEDBAT, RFC 6817, switched on and off by the kernel's own measurements of a TCP connection.)
bool is_behind_a_queue(int socket) noexcept;
/// Whether a bulk reply may wait for a queue: since its beginning `elapsed` ago, the time of all its waits included, it
/// has had twice `drain_rate` (bytes per second). Strangers fill queues, so a reply that gets less yields to nobody.
bool may_yield(std::uint64_t written, std::chrono::steady_clock::duration elapsed, std::uint64_t drain_rate) noexcept;

/// Lets bulk replies wait while messages are sent. The time that they wait is a budget: it is used up as they wait, and
/// grows at the same rate while no message is sent. So a message that is never taken holds bulk replies for kHoldMax, and
/// many messages hold them for half of the time. Thread-safe.
class Uplink {
public:
    using Time = std::chrono::steady_clock::time_point;
    /// Seven messages of a round whose updates take as long as its steps need 3.5 s of a link, and with less than this, states
    /// that are fetched on the same link double that. A client that fetches a state on such a link gives its first tiles 64 KiB /
    /// kStateFloorRate, 8 s.
    static constexpr std::chrono::milliseconds kHoldMax{6000};
    /// Limit on the time for which bulk replies wait after a message's reply: the rest of it is on its way, the peer asks
    /// for the message's next tensor, other members ask for theirs, and each of these requests would wait behind a queue.
    static constexpr std::chrono::milliseconds kAfterMax{500};
    /// Bytes per second. Bulk replies wait after a message for as long as its bytes take at this rate, so that whoever
    /// asks for little holds them for little.
    static constexpr std::uint64_t kAfterRate = 256 << 10;

    /// Each call is followed by one of end_message.
    void begin_message(Time now) noexcept;
    /// `bytes` of it were sent.
    void end_message(Time now, std::uint64_t bytes) noexcept;
    /// Whether bulk replies wait now.
    bool holds_bulk(Time now) noexcept;

private:
    void advance(Time now) noexcept;

    std::mutex mutex_;  // guards the members below
    std::size_t messages_ = 0;
    Time last_{}, until_{};  ///< `until_`: the end of the time after the last message.
    std::chrono::steady_clock::duration left_ = kHoldMax;
};

}  // namespace retrace::node
