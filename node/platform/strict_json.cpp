// SPDX-License-Identifier: MIT
#include "node/platform/strict_json.hpp"

#include <boost/json.hpp>

namespace retrace::node {
namespace {

namespace json = boost::json;

std::string quoted(std::string_view field) { return "field \"" + std::string(field) + "\" "; }

Result<Hash32> read_hash(const json::value& value, std::string_view field) {
    if (value.is_string() && value.get_string().size() == 66) {
        const std::string_view text(value.get_string().data(), 66);
        const auto bytes = from_hex(text);
        if (bytes && bytes->size() == 32 && to_0x(*bytes) == text) return to_hash32(*bytes);
    }
    return error(quoted(field) + "is not 0x and 64 lower-case hex digits");
}

Result<std::uint64_t> read_number(const json::value& value, std::string_view field) {
    if (value.is_uint64()) return value.get_uint64();
    if (value.is_int64() && value.get_int64() >= 0) return static_cast<std::uint64_t>(value.get_int64());
    return error(quoted(field) + "is not a whole number");
}

}  // namespace

Result<json::value> parse_json(View text, const std::string& where) {
    json::parse_options options;
    options.max_depth = 16;
    json::error_code code;
    json::value out = json::parse({reinterpret_cast<const char*>(text.data()), text.size()}, code, {}, options);
    if (code) return error(where + ": not JSON: " + code.message());
    return out;
}

Result<StrictObject> StrictObject::open(const json::value& value, std::initializer_list<std::string_view> fields) {
    if (!value.is_object()) return error("not a JSON object");
    const json::object& object = value.get_object();
    auto at = object.begin();
    for (const std::string_view field : fields) {
        if (at == object.end() || std::string_view(at->key().data(), at->key().size()) != field) {
            return error(quoted(field) + "is missing or out of order");
        }
        ++at;
    }
    if (at != object.end()) return error("unknown field \"" + std::string(at->key()) + "\"");
    return StrictObject(object);
}

const json::value& StrictObject::at(std::string_view field) const {
    return object_->at(json::string_view(field.data(), field.size()));
}

Result<std::string> StrictObject::text(std::string_view field, std::size_t limit) const {
    const json::value& value = at(field);
    if (!value.is_string()) return error(quoted(field) + "is not a string");
    if (value.get_string().size() > limit) return error(quoted(field) + "is too long");
    return std::string(value.get_string().data(), value.get_string().size());
}

Result<std::uint64_t> StrictObject::number(std::string_view field) const { return read_number(at(field), field); }

Result<bool> StrictObject::boolean(std::string_view field) const {
    if (!at(field).is_bool()) return error(quoted(field) + "is not true or false");
    return at(field).get_bool();
}

Result<Hash32> StrictObject::hash(std::string_view field) const { return read_hash(at(field), field); }

Result<const json::array*> StrictObject::array(std::string_view field, std::size_t limit) const {
    const json::value& value = at(field);
    if (!value.is_array()) return error(quoted(field) + "is not a list");
    if (value.get_array().size() > limit) return error(quoted(field) + "is too long");
    return &value.get_array();
}

Result<std::vector<std::uint64_t>> StrictObject::numbers(std::string_view field, std::size_t limit) const {
    RETRACE_TRY(list, array(field, limit));
    std::vector<std::uint64_t> out;
    for (const json::value& entry : *list) {
        RETRACE_TRY(number, read_number(entry, field));
        out.push_back(number);
    }
    return out;
}

Result<std::vector<Hash32>> StrictObject::hashes(std::string_view field, std::size_t limit) const {
    RETRACE_TRY(list, array(field, limit));
    std::vector<Hash32> out;
    for (const json::value& entry : *list) {
        RETRACE_TRY(hash, read_hash(entry, field));
        out.push_back(hash);
    }
    return out;
}

}  // namespace retrace::node
