// SPDX-License-Identifier: MIT
// retrace version
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <iostream>

#include "node/cmd/cli.hpp"
#include "node/server/node.hpp"

namespace retrace::node::cli {

void add_version(CLI::App& app, Program& program) {
    CLI::App* command = app.add_subcommand("version", "Print the version");
    add_json(*command, program);
    command->callback([&program] {
        program.run = [&program] {
            if (program.json) {
                std::cout << R"({"version":")" << kVersion << "\"}\n";
            } else {
                std::cout << "retrace " << kVersion << '\n';
            }
            return kDone;
        };
    });
}

}  // namespace retrace::node::cli
