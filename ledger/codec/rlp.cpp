// SPDX-License-Identifier: MIT
#include "ledger/codec/rlp.hpp"

#include <algorithm>
#include <array>

#include "merkle/base/ensure.hpp"

namespace retrace::ledger::rlp {
namespace {

constexpr std::size_t kShortMax = 55;  // longest payload with its length in the first byte

Result<View, Error> take_payload(View& rest, std::size_t size) {
    if (size > rest.size()) return Unexpected{Error::truncated};
    const View payload = rest.first(size);
    rest = rest.subspan(size);
    return payload;
}

Result<View, Error> take_long_payload(View& rest, std::size_t length_size) {
    if (length_size > rest.size()) return Unexpected{Error::truncated};
    if (rest[0] == 0) return Unexpected{Error::not_minimal};
    std::uint64_t size = 0;  // at most 8 bytes of length: cannot overflow
    for (std::size_t i = 0; i < length_size; ++i) size = size << 8 | rest[i];
    if (size <= kShortMax) return Unexpected{Error::not_minimal};
    rest = rest.subspan(length_size);
    return take_payload(rest, size);
}

Status<Error> check_items(const Item& item, int depth) {
    if (!item.is_list) return Unit{};
    if (depth > kDepthMax) return Unexpected{Error::too_deep};
    View rest = item.payload;
    while (!rest.empty()) {
        RETRACE_TRY(inner, take_item(rest));
        RETRACE_CHECK(check_items(inner, depth + 1));
    }
    return Unit{};
}

View minimal(const std::array<std::uint8_t, 32>& be) {
    const auto first = std::find_if(be.begin(), be.end(), [](std::uint8_t b) { return b != 0; });
    return View(be).subspan(static_cast<std::size_t>(first - be.begin()));
}

}  // namespace

std::string_view slug(Error error) noexcept {
    switch (error) {
        case Error::truncated: return "truncated";
        case Error::trailing: return "trailing";
        case Error::not_minimal: return "not_minimal";
        case Error::leading_zero: return "leading_zero";
        case Error::too_large: return "too_large";
        case Error::not_a_string: return "not_a_string";
        case Error::not_a_list: return "not_a_list";
        case Error::too_deep: return "too_deep";
        case Error::wrong_size: return "wrong_size";
        case Error::missing: return "missing";
    }
    return "unknown";
}

Result<Item, Error> take_item(View& in) {
    if (in.empty()) return Unexpected{Error::truncated};
    const std::uint8_t first = in[0];
    if (first < 0x80) {
        const View byte = in.first(1);
        in = in.subspan(1);
        return Item{false, byte};
    }
    View rest = in.subspan(1);
    const bool is_list = first >= 0xc0;
    const std::size_t code = first - (is_list ? 0xc0 : 0x80);
    RETRACE_TRY(payload, code <= kShortMax ? take_payload(rest, code) : take_long_payload(rest, code - kShortMax));
    if (!is_list && payload.size() == 1 && payload[0] < 0x80) return Unexpected{Error::not_minimal};
    in = rest;
    return Item{is_list, payload};
}

Result<Item, Error> decode(View in) {
    RETRACE_TRY(item, take_item(in));
    if (!in.empty()) return Unexpected{Error::trailing};
    RETRACE_CHECK(check_items(item, 1));
    return item;
}

ListReader::ListReader(const Item& list) : rest_(list.payload) {
    if (!list.is_list) fail(Error::not_a_list);
}

View ListReader::string() {
    if (error_) return {};
    if (rest_.empty()) {
        fail(Error::missing);
        return {};
    }
    const auto item = take_item(rest_);
    if (!item) {
        fail(item.error());
        return {};
    }
    if (item->is_list) {
        fail(Error::not_a_string);
        return {};
    }
    return item->payload;
}

View ListReader::bytes() { return string(); }

View ListReader::bytes_up_to(std::size_t limit) {
    const View out = string();
    if (out.size() <= limit) return out;
    fail(Error::too_large);
    return {};
}

View ListReader::fixed(std::size_t size) {
    const View out = string();
    if (ok() && out.size() != size) fail(Error::wrong_size);
    return ok() ? out : View{};
}

U256 ListReader::u256() {
    const View be = bytes_up_to(32);
    if (!be.empty() && be[0] == 0) fail(Error::leading_zero);
    return ok() ? U256::from_be(be) : U256{};
}

std::uint64_t ListReader::u64() {
    const U256 value = u256();
    if (!value.fits_u64()) fail(Error::too_large);
    return ok() ? value.low64() : 0;
}

ListReader ListReader::list() {
    ListReader inner;
    if (!error_ && rest_.empty()) fail(Error::missing);
    if (error_) {
        inner.error_ = error_;
        return inner;
    }
    const auto item = take_item(rest_);
    if (!item) {
        fail(item.error());
    } else if (!item->is_list) {
        fail(Error::not_a_list);
    } else {
        inner.rest_ = item->payload;
    }
    inner.error_ = error_;
    return inner;
}

Status<Error> ListReader::finish() const {
    if (error_) return Unexpected{*error_};
    if (!rest_.empty()) return Unexpected{Error::trailing};
    return Unit{};
}

void Encoder::header(std::uint8_t short_base, std::size_t size) {
    if (size <= kShortMax) {
        out_.push_back(static_cast<std::uint8_t>(short_base + size));
        return;
    }
    const auto be = U256{size}.to_be();
    const View length = minimal(be);
    out_.push_back(static_cast<std::uint8_t>(short_base + kShortMax + length.size()));
    raw(length);
}

Encoder& Encoder::bytes(View v) {
    if (v.size() != 1 || v[0] >= 0x80) header(0x80, v.size());
    return raw(v);
}

Encoder& Encoder::u64(std::uint64_t v) { return u256(v); }

Encoder& Encoder::u256(const U256& v) {
    const auto be = v.to_be();
    return bytes(minimal(be));
}

Encoder& Encoder::raw(View encoded) {
    out_.insert(out_.end(), encoded.begin(), encoded.end());
    return *this;
}

Encoder& Encoder::list(const Encoder& inner) {
    header(0xc0, inner.out_.size());
    return raw(inner.out_);
}

Bytes Encoder::to_list() const {
    Encoder out;
    out.out_.reserve(out_.size() + 9);
    out.list(*this);
    return std::move(out.out_);
}

}  // namespace retrace::ledger::rlp
