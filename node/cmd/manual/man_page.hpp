// SPDX-License-Identifier: MIT
// Manual pages in the macros of man(7).
#pragma once

#include <cstdint>
#include <string>

#include "node/cmd/manual/command_tree.hpp"

namespace retrace::node::cli {

struct ManPage {
    std::string file;  ///< "retrace-task.1"
    std::string text;
};

/// One page of the program, and one of each of its commands with those below it. `version`: of the program; `time`: the
/// date of the pages, in seconds since 1970.
std::vector<ManPage> man_pages(const CommandInfo& tree, const std::string& version, std::uint64_t time);

}  // namespace retrace::node::cli
