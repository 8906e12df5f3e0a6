// SPDX-License-Identifier: MIT
// The canonical encoding of records, derived from their field lists: every record names its fields once, in `tie`. SPEC
// 2.
#pragma once

#include <concepts>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "ledger/types/codec.hpp"

namespace retrace::market {

/// A struct with `static auto tie(auto& self)`.
template <class T>
concept Record = requires(T& value) {
    T::tie(value);
};

inline constexpr std::size_t kRecordListMax = 4096;
inline constexpr std::size_t kRecordTextMax = 1024;

template <class T>
void put(Writer& out, const T& value) {
    if constexpr (std::same_as<T, bool>)
        out.boolean(value);
    else if constexpr (std::same_as<T, std::uint8_t>)
        out.u8(value);
    else if constexpr (std::same_as<T, std::uint16_t>)
        out.u16(value);
    else if constexpr (std::same_as<T, std::uint32_t>)
        out.u32(value);
    else if constexpr (std::same_as<T, std::uint64_t>)
        out.u64(value);
    else if constexpr (std::is_enum_v<T>)
        out.u8(static_cast<std::uint8_t>(value));
    else if constexpr (std::same_as<T, Hash32>)
        out.hash(value);
    else if constexpr (std::same_as<T, ledger::Address> || std::same_as<T, ledger::U256>)
        ledger::encode_to(out, value);
    else if constexpr (std::same_as<T, std::string>)
        out.text(value);
    else if constexpr (Record<T>)
        std::apply([&](const auto&... field) { (put(out, field), ...); }, T::tie(value));
    else {
        out.u32(static_cast<std::uint32_t>(value.size()));
        for (const auto& item : value) put(out, item);
    }
}

/// Decodes a value. An enum names its last value through an overload of `last_of`; its first is 1, because zero is
/// invalid.
template <class T>
void get(Reader& in, T& value) {
    if constexpr (std::same_as<T, bool>)
        value = in.boolean();
    else if constexpr (std::same_as<T, std::uint8_t>)
        value = in.u8();
    else if constexpr (std::same_as<T, std::uint16_t>)
        value = in.u16();
    else if constexpr (std::same_as<T, std::uint32_t>)
        value = in.u32();
    else if constexpr (std::same_as<T, std::uint64_t>)
        value = in.u64();
    else if constexpr (std::is_enum_v<T>)
        value = static_cast<T>(in.enumerated(1, static_cast<std::uint8_t>(last_of(T{}))));
    else if constexpr (std::same_as<T, Hash32>)
        value = in.hash();
    else if constexpr (std::same_as<T, ledger::Address>)
        value = ledger::decode_address(in);
    else if constexpr (std::same_as<T, ledger::U256>)
        value = ledger::decode_u256(in);
    else if constexpr (std::same_as<T, std::string>)
        value = in.text(kRecordTextMax);
    else if constexpr (Record<T>)
        std::apply([&](auto&... field) { (get(in, field), ...); }, T::tie(value));
    else {
        const std::uint32_t count = in.count(kRecordListMax);
        value.clear();
        for (std::uint32_t i = 0; i < count && in.ok(); ++i) get(in, value.emplace_back());
    }
}

template <Record T>
Bytes encode_record(const T& record) {
    Writer out;
    put(out, record);
    return std::move(out).take();
}
template <Record T>
Result<T, CodecError> decode_record(View bytes) {
    Reader in(bytes);
    T record;
    get(in, record);
    RETRACE_CHECK(in.finish());
    return record;
}

}  // namespace retrace::market
