// SPDX-License-Identifier: MIT
// Strict reader for the JSON files that this project writes: exactly the known fields, with checked types and limits.
#pragma once

#include <boost/json/fwd.hpp>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "merkle/base/bytes.hpp"
#include "merkle/base/result.hpp"

namespace retrace::node {

/// Parses JSON. `where` is the prefix of error messages. Nesting is limited to 16.
Result<boost::json::value> parse_json(View text, const std::string& where);

/// An object with exactly the given fields, in this order, so that a value has one representation. Refers to the value,
/// which must outlive it.
class StrictObject {
public:
    static Result<StrictObject> open(const boost::json::value& value, std::initializer_list<std::string_view> fields);

    Result<std::string> text(std::string_view field, std::size_t limit) const;
    Result<std::uint64_t> number(std::string_view field) const;
    Result<bool> boolean(std::string_view field) const;
    Result<Hash32> hash(std::string_view field) const;  ///< "0x" and 64 lower-case digits.
    Result<const boost::json::array*> array(std::string_view field, std::size_t limit) const;
    Result<std::vector<std::uint64_t>> numbers(std::string_view field, std::size_t limit) const;
    Result<std::vector<Hash32>> hashes(std::string_view field, std::size_t limit) const;
    const boost::json::value& at(std::string_view field) const;

private:
    explicit StrictObject(const boost::json::object& object) : object_(&object) {}
    const boost::json::object* object_;
};

}  // namespace retrace::node
