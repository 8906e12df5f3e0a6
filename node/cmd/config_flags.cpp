// SPDX-License-Identifier: MIT
#include "node/cmd/config_flags.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <optional>

#include "node/cmd/renamed.hpp"
#include "node/platform/flag_file.hpp"

namespace retrace::node::cli {
namespace {

constexpr const char* kOption = "--config";
constexpr const char* kGroup = "Configuration";  // identifies the option of add_config_option

/// Returns "--name" for "--name=value".
std::string name_of(const std::string& argument) { return argument.substr(0, argument.find('=')); }

std::optional<std::string> file_of(const std::vector<std::string>& arguments) {
    for (std::size_t i = 1; i < arguments.size(); ++i) {
        if (name_of(arguments[i]) != kOption) continue;
        if (arguments[i] != kOption) return arguments[i].substr(std::string(kOption).size() + 1);
        if (i + 1 < arguments.size()) return arguments[i + 1];
    }
    return std::nullopt;
}

Status<> append(const CLI::Option& option, const FileFlag& flag, std::vector<std::string>& arguments) {
    const bool is_switch = option.get_expected_max() == 0;
    if (is_switch != flag.values.empty()) return error(is_switch ? "must be true or false" : "needs a value");
    if (is_switch && flag.on) arguments.push_back(flag.name);
    // With "=", because a value may begin with a dash.
    for (const std::string& value : flag.values) arguments.push_back(flag.name + "=" + value);
    return Unit{};
}

}  // namespace

void add_config_option(CLI::App& command) {
    command.add_option(kOption, "TOML file of these flags (data_dir = \"…\"); the command line overrides it")
        ->group(kGroup);
}

Result<std::vector<std::string>> with_config_flags(const CLI::App& app, std::vector<std::string> arguments) {
    const auto named = [&](const CLI::App* command) {
        return !arguments.empty() && command->check_name(arguments.front());
    };
    const auto found = app.get_subcommands(named);
    const CLI::App* const command = found.empty() ? nullptr : found.front();
    const CLI::Option* const config = command == nullptr ? nullptr : command->get_option_no_throw(kOption);
    const auto path = file_of(arguments);
    if (config == nullptr || config->get_group() != kGroup || !path) return arguments;
    RETRACE_TRY(flags, load_flags(*path));
    for (FileFlag& flag : flags) flag.name = with_current_name(flag.name);
    const std::vector<std::string> typed = arguments;
    for (const FileFlag& flag : flags) {
        const CLI::Option* const option = command->get_option_no_throw(flag.name);
        const std::string key = *path + ": " + flag.name.substr(2);
        if (option == nullptr || option == config || flag.name == "--help") {
            return error(key + " is no flag of `retrace " + command->get_name() + "`");
        }
        if (std::any_of(typed.begin() + 1, typed.end(),
                        [&](const std::string& argument) { return option->check_name(name_of(argument)); }))
            continue;
        const auto added = append(*option, flag, arguments);
        if (!added) return error(key + " " + added.error().message);
    }
    return arguments;
}

}  // namespace retrace::node::cli
