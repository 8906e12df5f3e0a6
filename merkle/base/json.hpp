// SPDX-License-Identifier: MIT
// A strict JSON parser (RFC 8259) for safetensors headers and files of known answers, because kernels and solver may use
// no library for it. It refuses trailing text, duplicate keys and unpaired surrogates. Numbers that are not 64-bit
// integers have no value here, because such files contain none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "merkle/base/result.hpp"

namespace retrace {

struct Json;
using JsonArray = std::vector<Json>;
using JsonObject = std::map<std::string, Json, std::less<>>;

struct Json {
    enum class Kind : std::uint8_t { null, boolean, natural, negative, other_number, text, array, object };

    // Only the member that corresponds to `kind` is meaningful.
    Kind kind = Kind::null;
    bool truth = false;
    std::uint64_t natural_value = 0;
    std::int64_t negative_value = 0;
    std::string text_value;  ///< UTF-8 if the file is UTF-8.
    JsonArray elements;
    JsonObject members;

    // Return null if the value is of another kind.
    const std::string* text() const { return kind == Kind::text ? &text_value : nullptr; }
    const std::uint64_t* natural() const { return kind == Kind::natural ? &natural_value : nullptr; }
    const std::int64_t* negative() const { return kind == Kind::negative ? &negative_value : nullptr; }
    const JsonArray* array() const { return kind == Kind::array ? &elements : nullptr; }
    /// Returns the member `key`; null if this is not an object or has no such member.
    const Json* find(std::string_view key) const;
};

inline constexpr std::size_t kJsonValuesMax = std::size_t{1} << 20;

/// Parses all of `text` as one value, nested at most 32 levels deep, with at most kJsonValuesMax values. The error names
/// the byte.
Result<Json> parse_json(std::string_view text);
/// Returns `text`, which is UTF-8, as a JSON string with quotes.
std::string quote_json(std::string_view text);

}  // namespace retrace
