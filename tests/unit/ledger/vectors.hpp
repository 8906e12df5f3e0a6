// SPDX-License-Identifier: MIT
// Reads known answers from files under tests/vectors.
#pragma once

#include <boost/json.hpp>
#include <fstream>
#include <sstream>

#include "ledger/types/address.hpp"
#include "merkle/base/bytes.hpp"
#include "merkle/base/ensure.hpp"

namespace retrace::ledger::test {

namespace json = boost::json;

inline json::value load_vectors(const std::string& path) {
    std::ifstream file(std::string(RETRACE_VECTORS) + "/" + path);
    ensure(file.good(), "a vector file is missing");
    std::stringstream text;
    text << file.rdbuf();
    return json::parse(text.str());
}

inline std::string text(const json::value& v) { return std::string(v.as_string()); }
inline Bytes hex(const json::value& v) {
    const auto bytes = from_hex(std::string_view(v.as_string()));
    ensure(bytes.has_value(), "a vector is not hex");
    return *bytes;
}
inline Hash32 hash(const json::value& v) { return to_hash32(hex(v)); }
inline Bytes bytes(std::string_view s) { return to_bytes(retrace::view(s)); }

}  // namespace retrace::ledger::test
