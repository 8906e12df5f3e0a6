// SPDX-License-Identifier: MIT
// Parser of the JSON subset that a safetensors header may use: an object of objects with strings and arrays of unsigned
// integers.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "merkle/base/result.hpp"

namespace retrace::solver {

using HeaderValue = std::variant<std::string, std::vector<std::uint64_t>>;
/// Fields of one entry by name; a repeated name is refused.
using HeaderEntry = std::map<std::string, HeaderValue>;
/// Entries in order of appearance.
struct Header {
    std::vector<std::pair<std::string, HeaderEntry>> entries;
};

Result<Header> parse_header(std::string_view text);
/// Returns `text` as a JSON string with quotes.
std::string quote(std::string_view text);

}  // namespace retrace::solver
