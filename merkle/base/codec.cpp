// SPDX-License-Identifier: MIT
#include "merkle/base/codec.hpp"

namespace retrace {

std::string_view slug(CodecError error) noexcept {
    switch (error) {
        case CodecError::truncated: return "truncated";
        case CodecError::too_long: return "too_long";
        case CodecError::not_canonical: return "not_canonical";
        case CodecError::trailing: return "trailing_bytes";
    }
    return "unknown";
}

Writer& Writer::u8(std::uint8_t v) {
    out_.push_back(v);
    return *this;
}
Writer& Writer::u16(std::uint16_t v) {
    std::uint8_t b[2];
    store_u16(b, v);
    return raw(b);
}
Writer& Writer::u32(std::uint32_t v) {
    std::uint8_t b[4];
    store_u32(b, v);
    return raw(b);
}
Writer& Writer::u64(std::uint64_t v) {
    std::uint8_t b[8];
    store_u64(b, v);
    return raw(b);
}
Writer& Writer::raw(View v) {
    out_.insert(out_.end(), v.begin(), v.end());
    return *this;
}
Writer& Writer::bytes(View v) {
    ensure(v.size() <= 0xffffffffu, "a run of bytes is shorter than 4 GiB");
    u32(static_cast<std::uint32_t>(v.size()));
    return raw(v);
}

void Reader::fail(CodecError error) noexcept {
    if (failed_) return;
    failed_ = true;
    error_ = error;
}

View Reader::raw(std::size_t size) {
    if (failed_) return {};
    if (size > left()) {
        fail(CodecError::truncated);
        return {};
    }
    const View out = in_.subspan(at_, size);
    at_ += size;
    return out;
}

std::uint8_t Reader::u8() {
    const View v = raw(1);
    return v.empty() ? std::uint8_t{0} : v[0];
}
std::uint16_t Reader::u16() {
    const View v = raw(2);
    return v.empty() ? std::uint16_t{0} : load_u16(v.data());
}
std::uint32_t Reader::u32() {
    const View v = raw(4);
    return v.empty() ? 0 : load_u32(v.data());
}
std::uint64_t Reader::u64() {
    const View v = raw(8);
    return v.empty() ? 0 : load_u64(v.data());
}
bool Reader::boolean() { return enumerated(0, 1) == 1; }
Hash32 Reader::hash() {
    const View v = raw(32);
    return v.empty() ? Hash32{} : to_hash32(v);
}
View Reader::bytes(std::size_t limit) {
    const std::uint32_t size = u32();
    if (size > limit) {
        fail(CodecError::too_long);
        return {};
    }
    return raw(size);
}
std::string Reader::text(std::size_t limit) {
    const View v = bytes(limit);
    return {v.begin(), v.end()};
}
std::uint32_t Reader::count(std::size_t limit, std::size_t item_size) {
    const std::uint32_t n = u32();
    if (failed_) return 0;
    if (n > limit) {
        fail(CodecError::too_long);
        return 0;
    }
    if (item_size != 0 && n > left() / item_size) {
        fail(CodecError::truncated);
        return 0;
    }
    return n;
}
std::uint8_t Reader::enumerated(std::uint8_t low, std::uint8_t high) {
    const std::uint8_t v = u8();
    if (failed_) return low;
    if (v < low || v > high) {
        fail(CodecError::not_canonical);
        return low;
    }
    return v;
}
Status<CodecError> Reader::finish() const {
    if (failed_) return Unexpected{error_};
    if (left() != 0) return Unexpected{CodecError::trailing};
    return Unit{};
}

}  // namespace retrace
