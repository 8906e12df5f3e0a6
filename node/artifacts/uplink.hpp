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

/// Whether a bulk reply must wait before its next chunk: the round trip takes 60 ms longer than its shortest one, so the
/// link has a queue in which this machine's own calls would wait. A connection with nothing in flight never waits, so a
/// bulk reply has one chunk a round trip at least, whoever fills the queue. (The rule of LEDBAT, RFC 6817, switched on
/// and off by the kernel's own measurements of a TCP connection.)
bool is_behind_a_queue(int socket) noexcept;

/// Lets bulk replies wait while messages are sent. The time that they wait is a budget: it is used up as they wait, and
/// grows at the same rate while no message is sent. So requests for messages without end hold bulk replies for ten
/// seconds, and after that not at all. Thread-safe.
class Uplink {
public:
    using Time = std::chrono::steady_clock::time_point;
    static constexpr std::chrono::milliseconds kHoldMax{10'000};
    /// Time for which bulk replies wait after a message's reply: the rest of it is on its way, and the peer asks for
    /// the message's next tensor.
    static constexpr std::chrono::milliseconds kAfter{200};

    void begin_message(Time now) noexcept;
    void end_message(Time now) noexcept;
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
