// SPDX-License-Identifier: MIT
// Records as JSON, and the schemas of that JSON. Both are generated from the record's list of fields (`tie` and
// `names`), so the answers and the OpenRPC document cannot differ.
//
// Format: integers of up to 32 bits are numbers, longer ones quantities ("0x1f"); hashes, addresses and bytes are hex;
// states are their slugs; an absent optional value is null.
#pragma once

#include <optional>

#include "contracts/records/explain_bids.hpp"
#include "market/record.hpp"
#include "node/platform/json_values.hpp"

namespace retrace::node::rpc {

std::string_view slug(market::SeatState state) noexcept;
std::string_view slug(market::DisputeKind kind) noexcept;
std::string_view slug(market::ReportKind kind) noexcept;
std::string_view slug(market::ReportState state) noexcept;
std::string_view slug(market::RetentionState state) noexcept;

json::object schema_ref(std::string_view name);
json::object nullable_schema(json::object schema);

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <class T>
json::value record_json(const T& value) {
    if constexpr (std::same_as<T, bool>)
        return value;
    else if constexpr (std::is_enum_v<T>)
        return json::value(json::string(slug(value)));
    else if constexpr (std::unsigned_integral<T>) {
        if constexpr (sizeof(T) <= 4)
            return static_cast<std::uint64_t>(value);
        else
            return json::value(quantity(value));
    } else if constexpr (std::same_as<T, ledger::U256>)
        return json::value(quantity(value));
    else if constexpr (std::same_as<T, Hash32> || std::same_as<T, ledger::Address>)
        return json::value(data(value));
    else if constexpr (std::same_as<T, std::string>)
        return json::value(value);
    else if constexpr (std::same_as<T, json::object>)
        return value;
    else if constexpr (kIsOptional<T>)
        return value ? record_json(*value) : json::value(nullptr);
    else if constexpr (market::Record<T>) {
        json::object out;
        const auto names = T::names();
        std::size_t i = 0;
        std::apply([&](const auto&... field) { ((out[names[i++]] = record_json(field)), ...); }, T::tie(value));
        return out;
    } else {
        json::array out;
        for (const auto& item : value) out.push_back(record_json(item));
        return out;
    }
}

template <class T>
json::object schema_of() {
    if constexpr (std::same_as<T, bool>)
        return {{"type", "boolean"}};
    else if constexpr (std::is_enum_v<T>) {
        json::array words;
        for (unsigned i = 1; i <= static_cast<unsigned>(last_of(T{})); ++i) words.emplace_back(slug(static_cast<T>(i)));
        return {{"type", "string"}, {"enum", std::move(words)}};
    } else if constexpr (std::unsigned_integral<T>) {
        if constexpr (sizeof(T) <= 4)
            return {{"type", "integer"}, {"minimum", 0}, {"maximum", std::uint64_t{static_cast<T>(~T{0})}}};
        else
            return schema_ref("Quantity");
    } else if constexpr (std::same_as<T, ledger::U256>)
        return schema_ref("Quantity");
    else if constexpr (std::same_as<T, Hash32>)
        return schema_ref("Hash");
    else if constexpr (std::same_as<T, ledger::Address>)
        return schema_ref("Address");
    else if constexpr (std::same_as<T, std::string>)
        return {{"type", "string"}};
    else if constexpr (std::same_as<T, json::object>)
        return {{"type", "object"}};
    else if constexpr (kIsOptional<T>)
        return nullable_schema(schema_of<typename T::value_type>());
    else if constexpr (market::Record<T>) {
        json::object properties;
        json::array required;
        T sample{};
        const auto names = T::names();
        std::size_t i = 0;
        const auto add = [&]<class Field>(const Field&) {
            required.emplace_back(names[i]);
            properties[names[i++]] = schema_of<Field>();
        };
        std::apply([&](const auto&... field) { (add(field), ...); }, T::tie(sample));
        return {{"type", "object"},
                {"required", std::move(required)},
                {"properties", std::move(properties)},
                {"additionalProperties", false}};
    } else
        return {{"type", "array"}, {"items", schema_of<typename T::value_type>()}};
}

}  // namespace retrace::node::rpc
