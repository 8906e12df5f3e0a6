// SPDX-License-Identifier: MIT
// Converts C++ structs with `tie` to ABI types and values: the field list defines the interface. SPEC 3.5.
#pragma once

#include <concepts>
#include <optional>
#include <tuple>
#include <type_traits>

#include "contracts/abi/codec.hpp"
#include "ledger/types/address.hpp"
#include "ledger/types/u256.hpp"
#include "market/record.hpp"

namespace retrace::abi {

template <class T>
inline constexpr bool kIsList = false;
template <class T>
inline constexpr bool kIsList<std::vector<T>> = !std::same_as<T, std::uint8_t>;

template <class T>
Type type_of() {
    using Kind = Type::Kind;
    const auto make = [](Kind kind, std::size_t size) {
        Type type;
        type.kind = kind;
        type.size = static_cast<std::uint16_t>(size);
        return type;
    };
    if constexpr (std::same_as<T, bool>)
        return make(Kind::boolean, 0);
    else if constexpr (std::is_enum_v<T>)
        return make(Kind::uint, 8);
    else if constexpr (std::unsigned_integral<T>)
        return make(Kind::uint, 8 * sizeof(T));
    else if constexpr (std::same_as<T, ledger::U256>)
        return make(Kind::uint, 256);
    else if constexpr (std::same_as<T, Hash32>)
        return make(Kind::fixed_bytes, 32);
    else if constexpr (std::same_as<T, ledger::Address>)
        return make(Kind::address, 0);
    else if constexpr (std::same_as<T, Bytes>)
        return make(Kind::bytes, 0);
    else if constexpr (std::same_as<T, std::string>)
        return make(Kind::string, 0);
    else if constexpr (kIsList<T>) {
        Type out = make(Kind::array, 0);
        out.parts.push_back(type_of<typename T::value_type>());
        return out;
    } else {
        static_assert(market::Record<T>);
        Type out = make(Kind::tuple, 0);
        T sample{};
        std::apply([&](auto&... field) { (out.parts.push_back(type_of<std::remove_cvref_t<decltype(field)>>()), ...); },
                   T::tie(sample));
        return out;
    }
}

inline Word word_from(const ledger::U256& value) {
    Word out;
    out.bytes = value.to_be();
    return out;
}

template <class T>
Value to_value(const T& value) {
    if constexpr (std::is_enum_v<T>)
        return {word_from(ledger::U256(static_cast<std::uint64_t>(value)))};
    else if constexpr (std::unsigned_integral<T>)
        return {word_from(ledger::U256(static_cast<std::uint64_t>(value)))};
    else if constexpr (std::same_as<T, ledger::U256>)
        return {word_from(value)};
    else if constexpr (std::same_as<T, Hash32>)
        return {value};
    else if constexpr (std::same_as<T, ledger::Address>) {
        Word out;
        std::copy(value.bytes.begin(), value.bytes.end(), out.bytes.begin() + 12);
        return {out};
    } else if constexpr (std::same_as<T, Bytes>)
        return {value};
    else if constexpr (std::same_as<T, std::string>)
        return {to_bytes(view(value))};
    else {
        List out;
        if constexpr (kIsList<T>)
            for (const auto& item : value) out.push_back(to_value(item));
        else
            std::apply([&](const auto&... field) { (out.push_back(to_value(field)), ...); }, T::tie(value));
        return {std::move(out)};
    }
}

/// `value` must have been decoded with type_of<T>(), which guarantees its shape and ranges (asserted by std::get).
template <class T>
void from_value(const Value& value, T& out) {
    const auto word = [&]() -> const Word& { return std::get<Word>(value.data); };
    if constexpr (std::same_as<T, bool>)
        out = word().bytes[31] == 1;
    else if constexpr (std::is_enum_v<T>)
        out = static_cast<T>(word().bytes[31]);
    else if constexpr (std::unsigned_integral<T>)
        out = static_cast<T>(ledger::U256::from_be(view(word())).low64());
    else if constexpr (std::same_as<T, ledger::U256>)
        out = ledger::U256::from_be(view(word()));
    else if constexpr (std::same_as<T, Hash32>)
        out = word();
    else if constexpr (std::same_as<T, ledger::Address>)
        out = ledger::address_of_bytes(view(word()).subspan(12));
    else if constexpr (std::same_as<T, Bytes>)
        out = std::get<Bytes>(value.data);
    else if constexpr (std::same_as<T, std::string>) {
        const Bytes& text = std::get<Bytes>(value.data);
        out.assign(text.begin(), text.end());
    } else if constexpr (kIsList<T>) {
        out.clear();
        for (const Value& item : std::get<List>(value.data)) from_value(item, out.emplace_back());
    } else {
        const List& list = std::get<List>(value.data);
        std::size_t i = 0;
        std::apply([&](auto&... field) { (from_value(list[i++], field), ...); }, T::tie(out));
    }
}

template <class T>
Bytes encode_struct(const T& value) {
    return encode(type_of<T>(), to_value(value));
}
template <class T>
Result<T, AbiError> decode_struct(View data) {
    static const Type type = type_of<T>();
    RETRACE_TRY(value, decode(type, data));
    T out;
    from_value(value, out);
    return out;
}

}  // namespace retrace::abi
