// SPDX-License-Identifier: MIT
// The commands and flags of the program as plain data, read from CLI11.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace retrace::node::cli {

struct FlagInfo {
    std::vector<std::string> names;  ///< "--key", "-o"; of a positional argument one name without dashes.
    std::string summary;
    bool positional = false;
    bool takes_value = false;
    bool required = false;
    std::vector<std::string> choices;  ///< The only values that are accepted; empty if others are.
};

struct CommandInfo {
    std::string path;  ///< "retrace task submit"
    std::string name;  ///< "submit"
    std::string summary, footer;
    std::vector<FlagInfo> flags;
    std::vector<CommandInfo> commands;
};

/// Reads the tree below `app`, in the order of --help, without what --help hides.
CommandInfo command_tree(const CLI::App& app);

/// Calls `use` with `command` and all commands below it, parents first.
template <class Use>
void for_each_command(const CommandInfo& command, const Use& use) {
    use(command);
    for (const CommandInfo& each : command.commands) for_each_command(each, use);
}

}  // namespace retrace::node::cli
