// SPDX-License-Identifier: MIT
// The JSON that a safetensors header may be, and no more: an object of objects with strings, unsigned
// integers and arrays of unsigned integers.
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
/// Fields of one entry in order of appearance; a repeated name is refused.
using HeaderEntry = std::map<std::string, HeaderValue>;
struct Header {
    std::vector<std::pair<std::string, HeaderEntry>> entries;
};

Result<Header> parse_header(std::string_view text);
/// A JSON string with its quotes.
std::string quote(std::string_view text);

}  // namespace retrace::solver
