// SPDX-License-Identifier: MIT
// Scripts by which shells complete the words of a command line.
#pragma once

#include <optional>
#include <string>

#include "node/cmd/manual/command_tree.hpp"

namespace retrace::node::cli {

enum class Shell { bash = 1, zsh, fish };

/// nullopt unless `name` is "bash", "zsh" or "fish".
std::optional<Shell> shell_of(const std::string& name);

/// The script for the whole tree. Names of commands, flags and choices have no blanks or quotes; summaries may.
std::string completion(const CommandInfo& tree, Shell shell);

}  // namespace retrace::node::cli
