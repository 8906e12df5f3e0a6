// SPDX-License-Identifier: MIT
#include "node/platform/flag_file.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>

namespace retrace::node {
namespace {

std::optional<std::string> text_of(const toml::node& node) {
    if (const auto value = node.value_exact<std::string>()) return *value;
    if (const auto value = node.value_exact<std::int64_t>()) return std::to_string(*value);
    if (const auto value = node.value_exact<double>()) {
        char digits[32];
        const auto end = std::to_chars(std::begin(digits), std::end(digits), *value);
        return std::string(digits, end.ptr);
    }
    return std::nullopt;
}

Result<FileFlag> flag_of(const std::string& key, const toml::node& node) {
    FileFlag flag{"--" + key, {}, true};
    std::replace(flag.name.begin(), flag.name.end(), '_', '-');
    if (const auto value = node.value_exact<bool>()) {
        flag.on = *value;
        return flag;
    }
    const toml::array* const list = node.as_array();
    const auto take = [&](const toml::node& item) {
        const auto value = text_of(item);
        if (value) flag.values.push_back(*value);
        return value.has_value();
    };
    const bool taken = list == nullptr ? take(node) : std::all_of(list->begin(), list->end(), take);
    if (!taken || flag.values.empty()) {
        return error("must be a text, a number, true or false, or a list of texts or numbers");
    }
    return flag;
}

}  // namespace

Result<std::vector<FileFlag>> parse_flags(std::string_view text, const std::string& name) {
    toml::table table;
    try {
        table = toml::parse(text, name);
    } catch (const toml::parse_error& e) {
        return error(name + ":" + std::to_string(e.source().begin.line) +
                     ": not TOML: " + std::string(e.description()));
    }
    std::vector<FileFlag> flags;
    for (const auto& [key, node] : table) {
        const std::string called(key.str());
        auto flag = flag_of(called, node);
        if (!flag) return error(name + ": " + called + " " + flag.error().message);
        flags.push_back(std::move(*flag));
    }
    return flags;
}

Result<std::vector<FileFlag>> load_flags(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return error("cannot read the configuration file " + path + "; see --config");
    std::ostringstream text;
    text << file.rdbuf();
    return parse_flags(text.str(), path);
}

}  // namespace retrace::node
