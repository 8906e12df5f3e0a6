// SPDX-License-Identifier: MIT
// A strict reader of JSON (RFC 8259) for files of known answers. kernels may use no library for it. Refused:
// trailing text, duplicate keys and halves of surrogate pairs. Numbers that are no 64-bit integers have no value
// here, as nothing in such a file is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "merkle/base/result.hpp"

namespace retrace::kernels::tools {

struct Json;
using JsonArray = std::vector<Json>;
using JsonObject = std::map<std::string, Json, std::less<>>;

struct Json {
    enum class Kind : std::uint8_t { null, boolean, natural, negative, other_number, text, array, object };

    // Only the member that `kind` names has a meaning.
    Kind kind = Kind::null;
    bool truth = false;
    std::uint64_t natural_value = 0;
    std::int64_t negative_value = 0;
    std::string text_value;  ///< UTF-8 where the file is.
    JsonArray elements;
    JsonObject members;

    // Null where the value is of another kind.
    const std::string* text() const { return kind == Kind::text ? &text_value : nullptr; }
    const std::uint64_t* natural() const { return kind == Kind::natural ? &natural_value : nullptr; }
    const std::int64_t* negative() const { return kind == Kind::negative ? &negative_value : nullptr; }
    const JsonArray* array() const { return kind == Kind::array ? &elements : nullptr; }
    /// The member of an object; null where this is no object or has no such member.
    const Json* find(std::string_view key) const;
};

/// The whole of `text` as one value, at most 32 levels deep. The error names the byte.
Result<Json> parse_json(std::string_view text);

}  // namespace retrace::kernels::tools
