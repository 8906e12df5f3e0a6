// SPDX-License-Identifier: MIT
// Defaults of a user's commands: the node, the key, and what else is the same in all of them.
#pragma once

#include <string>
#include <vector>

#include "merkle/base/result.hpp"

namespace CLI {
class App;
}

namespace retrace::node::cli {

/// Where the file is: $RETRACE_CONFIG, or ~/.retrace/client.toml.
std::string client_file();

/// Appends `--node`, `--key`, `--passphrase-file` and the like to `arguments` (without the program's name) if the
/// command has such a flag and it is not typed: from RETRACE_NODE, RETRACE_KEY and RETRACE_PASSPHRASE_FILE, and after
/// them from the client file. A missing file is none; an unreadable one or an unknown key is an error that names it.
Result<std::vector<std::string>> with_client_defaults(const CLI::App& app, std::vector<std::string> arguments);

}  // namespace retrace::node::cli
