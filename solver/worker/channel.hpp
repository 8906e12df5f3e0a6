// SPDX-License-Identifier: MIT
// Messages and tensors over two pipes.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>

#include "merkle/base/bytes.hpp"

namespace retrace::solver {

/// The other side is gone, or what it sends is none of what may come.
class ChannelBroken : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// An exchange is over before its end.
class ExchangeOver final : public ChannelBroken {
public:
    enum class Why : std::uint8_t { late = 1, left = 2 };
    explicit ExchangeOver(Why why) : ChannelBroken("the exchange is over"), why_(why) {}
    Why why() const noexcept { return why_; }

private:
    Why why_;
};

/// Both sides use one. A message is a u32 with its length and that many bytes; tensors follow a message without any
/// length. Nothing is allocated for a length before its bytes are there. Everything throws ChannelBroken.
class Channel {
public:
    using Clock = std::chrono::steady_clock;
    /// Takes both over.
    Channel(int in, int out);
    ~Channel();
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    /// What is sent and received from now on is one exchange: over at `by`, however many bytes came until then, and as
    /// soon as `go_on` says no, which is asked while the other side is waited for. The pipes have to be without
    /// blocking then. Before the first one everything may take for ever.
    void begin_exchange(Clock::time_point by, std::function<bool()> go_on);
    /// Throws ExchangeOver if it is.
    void check_exchange() const;

    /// Kept until `flush`, a long one in part.
    void send(View message);
    void send_raw(View bytes);
    void flush();

    /// Waits for it as long as the exchange may take; of `most` bytes, or less.
    Bytes receive(std::size_t most);
    void receive_raw(std::span<std::uint8_t> into);
    /// Whether a message has begun to come; waits for that at most so long, whatever the exchange may take.
    bool wait(std::chrono::milliseconds most);
    /// The pipe that messages come from.
    int input() const noexcept { return in_; }

private:
    void write_all(View bytes);
    /// At least one byte.
    std::size_t read_some(std::span<std::uint8_t> into);
    void await(int descriptor, short event) const;

    int in_, out_;
    std::optional<Clock::time_point> by_;  // None: no exchange was begun.
    std::function<bool()> go_on_;
    Bytes written_, read_;
    std::size_t at_ = 0;  // Of what was read.
};

}  // namespace retrace::solver
