// SPDX-License-Identifier: MIT
#include "node/cmd/manual/command_tree.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

namespace retrace::node::cli {
namespace {

/// The values of CLI::IsMember, which CLI11 shows as a part "{a,b}" of the type's name and nowhere else.
std::vector<std::string> choices_of(const std::string& type) {
    std::vector<std::string> out;
    const std::size_t open = type.find('{'), close = type.find('}', open);
    if (open == std::string::npos || close == std::string::npos) return out;
    for (std::size_t at = open + 1; at < close;) {
        const std::size_t end = std::min(type.find(',', at), close);
        out.push_back(type.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

FlagInfo flag_of(const CLI::Option& option) {
    FlagInfo out;
    for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
    for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
    out.positional = out.names.empty();
    if (out.positional) out.names.push_back(option.get_name(true));
    out.summary = option.get_description();
    out.takes_value = option.get_expected_max() > 0;
    out.required = option.get_required();
    if (out.takes_value) out.choices = choices_of(option.get_type_name());
    return out;
}

void append_flags(const CLI::App& app, std::vector<FlagInfo>& out) {
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_group().empty()) continue;
        FlagInfo flag = flag_of(*option);
        const auto same = [&](const FlagInfo& each) { return each.names == flag.names; };
        if (std::none_of(out.begin(), out.end(), same)) out.push_back(std::move(flag));
    }
    // CLI11 keeps a group of options as a command without a name, with a --help of its own.
    for (const CLI::App* each : app.get_subcommands([](const CLI::App* sub) { return sub->get_name().empty(); }))
        append_flags(*each, out);
}

CommandInfo read(const CLI::App& app, const std::string& parent) {
    CommandInfo out;
    out.name = app.get_name();
    out.path = parent.empty() ? out.name : parent + " " + out.name;
    out.summary = app.get_description();
    out.footer = app.get_footer();
    append_flags(app, out.flags);
    for (const CLI::App* each : app.get_subcommands([](const CLI::App* sub) { return !sub->get_name().empty(); }))
        if (!each->get_group().empty()) out.commands.push_back(read(*each, out.path));
    return out;
}

}  // namespace

CommandInfo command_tree(const CLI::App& app) { return read(app, ""); }

}  // namespace retrace::node::cli
