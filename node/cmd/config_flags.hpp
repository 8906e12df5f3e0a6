// SPDX-License-Identifier: MIT
// --config for commands whose flags may come from a file: its flags are appended to the command line.
#pragma once

#include <string>
#include <vector>

#include "merkle/base/result.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace retrace::node::cli {

/// Adds --config to a subcommand.
void add_config_option(CLI::App& command);
/// Returns the arguments (the subcommand first) with the flags of the file that --config names, if the command has the
/// option of add_config_option. Flags on the command line take precedence. Errors name the file and the key.
Result<std::vector<std::string>> with_config_flags(const CLI::App& app, std::vector<std::string> arguments);

}  // namespace retrace::node::cli
