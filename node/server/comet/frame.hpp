// SPDX-License-Identifier: MIT
// Framing of ABCI's socket: each message is preceded by its length as an unsigned LEB128 number (ABCI 2.0,
// "Client and server", "Socket").
#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node::engine {

/// Longer messages are refused. A proposal brings the block before it with the extensions of 100 votes, each of which
/// CometBFT lets be a megabyte long when the vote comes late, and CometBFT's mempool of a block's size.
inline constexpr std::size_t kFrameMax = 160U << 20;

/// Cuts a stream of bytes into messages.
class FrameReader {
public:
    explicit FrameReader(std::size_t limit = kFrameMax) : limit_(limit) {}
    /// Adds the next bytes of the stream. An Error for a length over the limit or of more than five bytes; the stream
    /// cannot be read on then.
    Status<> feed(View bytes);
    /// The next complete message.
    std::optional<Bytes> next();

private:
    Status<> read_length(std::uint8_t byte);

    std::size_t limit_;
    std::uint64_t length_ = 0;  // of the message that is being read
    unsigned length_bytes_ = 0;
    bool in_body_ = false;
    Bytes body_;
    std::deque<Bytes> complete_;
};

/// Appends the length of a message to `out`; the message follows it.
void append_length(Bytes& out, std::uint64_t length);

}  // namespace retrace::node::engine
