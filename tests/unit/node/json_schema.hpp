// SPDX-License-Identifier: MIT
// The subset of JSON Schema that our OpenRPC document uses. An unknown keyword is an error of the schema.
#pragma once

#include <boost/json.hpp>
#include <regex>
#include <set>
#include <string>

namespace retrace::node::test {

class SchemaChecker {
public:
    explicit SchemaChecker(const boost::json::object& schemas) : schemas_(schemas) {}

    /// Returns an empty string if `value` matches `schema`, else the location and the error.
    std::string check(const boost::json::object& schema, const boost::json::value& value,
                      const std::string& at = "$") const {
        for (const auto& [keyword, rule] : schema) {
            std::string wrong = apply(keyword, rule, schema, value, at);
            if (!wrong.empty()) return wrong;
        }
        return {};
    }

private:
    using Json = boost::json::value;

    static bool is_type(std::string_view type, const Json& value) {
        if (type == "object") return value.is_object();
        if (type == "array") return value.is_array();
        if (type == "string") return value.is_string();
        if (type == "boolean") return value.is_bool();
        if (type == "null") return value.is_null();
        if (type == "integer") return value.is_int64() || value.is_uint64();
        return type == "number" && value.is_number();
    }

    std::size_t matching(const boost::json::array& options, const Json& value, const std::string& at) const {
        std::size_t out = 0;
        for (const Json& option : options) out += check(option.as_object(), value, at).empty() ? 1 : 0;
        return out;
    }

    std::string members(const Json& rule, const Json& value, const std::string& at) const {
        if (!value.is_object()) return {};
        for (const auto& [name, schema] : rule.as_object()) {
            const Json* member = value.as_object().if_contains(name);
            if (member == nullptr) continue;
            std::string wrong = check(schema.as_object(), *member, at + "." + std::string(name));
            if (!wrong.empty()) return wrong;
        }
        return {};
    }

    std::string apply(std::string_view keyword, const Json& rule, const boost::json::object& schema, const Json& value,
                      const std::string& at) const {
        const std::string text = at + " is " + boost::json::serialize(value).substr(0, 200) + ": ";
        if (keyword == "title") return {};
        if (keyword == "$ref") {
            const std::string name = std::string(rule.as_string()).substr(21);
            if (!schemas_.contains(name)) return "no schema " + name;
            return check(schemas_.at(name).as_object(), value, at);
        }
        if (keyword == "type") {
            if (rule.is_string() && is_type(rule.as_string(), value)) return {};
            if (rule.is_array())
                for (const Json& type : rule.as_array())
                    if (is_type(type.as_string(), value)) return {};
            return text + "want " + boost::json::serialize(rule);
        }
        if (keyword == "pattern") {
            const std::regex pattern{std::string(rule.as_string())};
            return std::regex_match(std::string(value.as_string()), pattern) ? "" : text + "pattern";
        }
        if (keyword == "enum") {
            for (const Json& word : rule.as_array())
                if (word == value) return {};
            return text + "enum";
        }
        if (keyword == "minimum") return value.to_number<double>() >= rule.to_number<double>() ? "" : text + "minimum";
        if (keyword == "maximum") return value.to_number<double>() <= rule.to_number<double>() ? "" : text + "maximum";
        if (keyword == "maxItems")
            return value.as_array().size() <= rule.to_number<std::size_t>() ? "" : text + "maxItems";
        if (keyword == "oneOf") return matching(rule.as_array(), value, at) == 1 ? "" : text + "oneOf";
        if (keyword == "anyOf") return matching(rule.as_array(), value, at) >= 1 ? "" : text + "anyOf";
        if (keyword == "properties") return members(rule, value, at);
        if (keyword == "required") {
            for (const Json& name : rule.as_array())
                if (!value.as_object().contains(name.as_string()))
                    return at + " lacks " + std::string(name.as_string());
            return {};
        }
        if (keyword == "additionalProperties") {
            for (const auto& [name, member] : value.as_object())
                if (!schema.at("properties").as_object().contains(name)) return at + " has " + std::string(name);
            return {};
        }
        if (keyword == "items") {
            if (!value.is_array()) return {};
            for (std::size_t i = 0; i < value.as_array().size(); ++i) {
                std::string wrong = check(rule.as_object(), value.as_array()[i], at + "[" + std::to_string(i) + "]");
                if (!wrong.empty()) return wrong;
            }
            return {};
        }
        return "the schema has a keyword that nobody checks: " + std::string(keyword);
    }

    const boost::json::object& schemas_;
};

}  // namespace retrace::node::test
