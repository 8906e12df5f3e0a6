// SPDX-License-Identifier: MIT
// Reads a command's flags from a TOML file, for commands that have no configuration of their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "merkle/base/result.hpp"

namespace retrace::node {

struct FileFlag {
    std::string name;                 ///< As on the command line: "--data-dir".
    std::vector<std::string> values;  ///< One value, or the values of a list; empty for a switch.
    bool on = true;                   ///< Value of a switch.
};

/// Reads keys named as the flags, with `_` for `-` (data_dir = "…"). Values are strings, numbers, lists of both, and
/// true or false for switches; sections are not allowed. Errors name the file and the key, or the line.
Result<std::vector<FileFlag>> load_flags(const std::string& path);
/// Same for TOML text; `name` stands for the file in errors.
Result<std::vector<FileFlag>> parse_flags(std::string_view text, const std::string& name);

}  // namespace retrace::node
