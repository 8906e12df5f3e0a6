// SPDX-License-Identifier: MIT
// Transfers messages and tensors over two pipes.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <stdexcept>

#include "kernels/runtime/stop_token.hpp"
#include "merkle/base/bytes.hpp"

namespace retrace::solver {

/// The other side closed its pipes or sent something that is not allowed.
class ChannelBroken : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// An exchange was ended before it was complete: it timed out (`late`), or its token requested a stop (`left`).
class ExchangeOver final : public ChannelBroken {
public:
    enum class Why : std::uint8_t { late = 1, left = 2 };
    explicit ExchangeOver(Why why) : ChannelBroken("the exchange is over"), why_(why) {}
    Why why() const noexcept { return why_; }

private:
    Why why_;
};

/// Both sides use a channel. A message is a u32 with its length and that many bytes; tensors follow a message without
/// any length. Memory for a message is allocated in parts as its bytes arrive. All calls may throw ChannelBroken.
class Channel {
public:
    using Clock = kernels::StopToken::Clock;
    /// Takes ownership of both descriptors.
    Channel(int in, int out);
    ~Channel();
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    /// Starts an exchange, to which all following sends and receives belong. It ends with ExchangeOver at the deadline
    /// of `stop`, however many bytes came until then, or when `stop`, polled while waiting for the other side, requests
    /// it. The pipes must be nonblocking then. Before the first exchange there is no timeout.
    void begin_exchange(kernels::StopToken stop);
    /// Throws ExchangeOver if the exchange has to end.
    void check_exchange() const;

    /// Buffers the message until `flush`; most of a long message is written at once.
    void send(View message);
    void send_raw(View bytes);
    void flush();

    /// Receives a message of at most `most` bytes; waits until the exchange ends.
    Bytes receive(std::size_t most);
    void receive_raw(std::span<std::uint8_t> into);
    /// Whether input is available; waits for it at most this long, independently of the exchange.
    bool wait(std::chrono::milliseconds most);
    /// The descriptor that messages come from.
    int input() const noexcept { return in_; }

private:
    void write_all(View bytes);
    /// Reads at least one byte; returns the number of bytes read.
    std::size_t read_some(std::span<std::uint8_t> into);
    void await(int descriptor, short event) const;

    int in_, out_;
    std::optional<kernels::StopToken> stop_;  // None: no exchange was begun.
    Bytes written_, read_;
    std::size_t at_ = 0;  // Position of the next byte in read_.
};

}  // namespace retrace::solver
