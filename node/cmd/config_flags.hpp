// SPDX-License-Identifier: MIT
// --config of commands whose flags may stand in a file: what the file says is put behind what was typed.
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
/// The arguments (the subcommand first) with those of the file that its --config names, if it has one that
/// add_config_option added. Flags that were typed win. Errors name the file and the key.
Result<std::vector<std::string>> with_config_flags(const CLI::App& app, std::vector<std::string> arguments);

}  // namespace retrace::node::cli
