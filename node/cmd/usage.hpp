// SPDX-License-Identifier: MIT
// Texts for a user who mistyped a command, or asks for help.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace retrace::node::cli {

/// Breaks the lines of a help text at 80 columns; continued descriptions begin in the column of the first line's.
std::string wrapped_help(const std::string& help);

/// "help task fetch" becomes "task fetch --help", and "--version" becomes "version". `arguments`: without the program's
/// name.
std::vector<std::string> with_help_last(std::vector<std::string> arguments);

/// A sentence about the first word that should be a command and is none, with the most similar one, or about a command
/// that is missing; empty if the words name a command.
std::string wrong_command(const CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace retrace::node::cli
