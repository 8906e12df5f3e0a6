// SPDX-License-Identifier: MIT
#include "node/server/comet/frame.hpp"

#include <algorithm>
#include <string>

namespace retrace::node::engine {
namespace {

constexpr unsigned kLengthBytesMax = 5;  // 35 bits: more than any length that is allowed

}  // namespace

Status<> FrameReader::read_length(std::uint8_t byte) {
    if (length_bytes_ == kLengthBytesMax) return error("the length of an ABCI message has more than five bytes");
    length_ |= std::uint64_t{byte & 0x7FU} << (7 * length_bytes_++);
    if ((byte & 0x80U) != 0) return Unit{};
    if (length_ > limit_) {
        return error("an ABCI message of " + std::to_string(length_) + " bytes is over the limit of " +
                     std::to_string(limit_));
    }
    in_body_ = true;
    return Unit{};
}

Status<> FrameReader::feed(View bytes) {
    while (!bytes.empty() || (in_body_ && body_.size() == length_)) {
        if (!in_body_) {
            RETRACE_CHECK(read_length(bytes.front()));
            bytes = bytes.subspan(1);
            continue;
        }
        const std::size_t part = std::min<std::size_t>(bytes.size(), length_ - body_.size());
        body_.insert(body_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(part));
        bytes = bytes.subspan(part);
        if (body_.size() < length_) continue;
        complete_.push_back(std::move(body_));
        body_ = {};
        length_ = length_bytes_ = 0;
        in_body_ = false;
    }
    return Unit{};
}

std::optional<Bytes> FrameReader::next() {
    if (complete_.empty()) return std::nullopt;
    Bytes message = std::move(complete_.front());
    complete_.pop_front();
    return message;
}

void append_length(Bytes& out, std::uint64_t length) {
    for (; length >= 0x80; length >>= 7) out.push_back(static_cast<std::uint8_t>(length | 0x80U));
    out.push_back(static_cast<std::uint8_t>(length));
}

}  // namespace retrace::node::engine
