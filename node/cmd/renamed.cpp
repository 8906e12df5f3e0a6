// SPDX-License-Identifier: MIT
#include "node/cmd/renamed.hpp"

#include <iostream>
#include <string_view>

namespace retrace::node::cli {
namespace {

struct Renamed {
    std::string_view old, now;
};

// Old names of version 0.1. Remove them after 0.2.
constexpr Renamed kFlags[] = {
    {"--patience", "--timeout"},
    {"--crest", "--outliers"},
};
constexpr Renamed kKeys[] = {
    {"crest", "outliers"},  // task plan, task run
};

}  // namespace

std::string with_current_name(std::string argument) {
    const std::string_view name = std::string_view(argument).substr(0, argument.find('='));
    for (const Renamed& flag : kFlags) {
        if (name != flag.old) continue;
        std::cerr << "warning: " << flag.old << " is now " << flag.now << '\n';
        return std::string(flag.now) + argument.substr(name.size());
    }
    return argument;
}

void add_old_keys(boost::json::object& out) {
    for (const Renamed& key : kKeys)
        if (const auto* value = out.if_contains({key.now.data(), key.now.size()}))
            out.emplace(boost::json::string_view(key.old.data(), key.old.size()), *value);
}

}  // namespace retrace::node::cli
