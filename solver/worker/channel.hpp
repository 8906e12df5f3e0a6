// SPDX-License-Identifier: MIT
// Messages and tensors over two pipes.
#pragma once

#include <chrono>
#include <span>
#include <stdexcept>

#include "merkle/base/bytes.hpp"

namespace retrace::solver {

/// The other side is gone, or what it sends is none of what may come.
class ChannelBroken final : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Both sides use one. A message is a u32 with its length and that many bytes; tensors follow a message without any
/// length. Nothing is allocated for a length before its bytes are there. Everything throws ChannelBroken.
class Channel {
public:
    /// Takes both over. `stall`: how long the other side may take no byte, or send none of what it has begun; zero: for
    /// ever. With a limit `in` and `out` have to be without O_NONBLOCK or with it alike.
    Channel(int in, int out, std::chrono::milliseconds stall = {});
    ~Channel();
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;

    /// Kept until `flush`, a long one in part.
    void send(View message);
    void send_raw(View bytes);
    void flush();

    /// Waits for it as long as it takes.
    Bytes receive();
    void receive_raw(std::span<std::uint8_t> into);
    /// Whether a message has begun to come; waits for that at most so long.
    bool wait(std::chrono::milliseconds most);
    /// The pipe that messages come from.
    int input() const noexcept { return in_; }

private:
    void write_all(View bytes);
    /// At least one byte; `may_wait`: nothing was begun that would have to go on.
    std::size_t read_some(std::span<std::uint8_t> into, bool may_wait);
    void await(int descriptor, short event, bool may_wait) const;

    int in_, out_;
    std::chrono::milliseconds stall_;
    Bytes written_, read_;
    std::size_t at_ = 0;  // Of what was read.
};

}  // namespace retrace::solver
