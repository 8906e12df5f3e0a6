// SPDX-License-Identifier: MIT
// A command's flags in a TOML file, for commands that have no configuration of their own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "merkle/base/result.hpp"

namespace retrace::node {

struct FileFlag {
    std::string name;                 ///< As on the command line: "--data-dir".
    std::vector<std::string> values;  ///< One, or those of a list; none of a switch.
    bool on = true;                   ///< Of a switch.
};

/// Reads keys named as the flags, with `_` for `-` (data_dir = "…"): texts, numbers, true and false for switches, lists
/// of texts and numbers. No sections. Errors name the file and the key, or the line.
Result<std::vector<FileFlag>> load_flags(const std::string& path);
/// The same for text; `name` stands for the file in errors.
Result<std::vector<FileFlag>> parse_flags(std::string_view text, const std::string& name);

}  // namespace retrace::node
