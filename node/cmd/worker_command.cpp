// SPDX-License-Identifier: MIT
// retrace worker: internal command with which solvers and verifiers start their worker processes
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <iostream>

#include "node/cmd/commands.hpp"
#include "solver/worker/serve.hpp"

namespace retrace::node::cli {

void add_worker(CLI::App& app, Program& program) {
    CLI::App* command = app.add_subcommand("worker", "Run a task's program for the party that started this process");
    command->group("");  // Hidden from --help.
    auto words = std::make_shared<std::vector<std::string>>();
    command->add_option("words", *words, "Limits, and what the process is for")->required();
    command->callback([&program, words] {
        program.run = [&program, words] {
            const auto limits = solver::parse_worker_limits(*words);
            if (limits) return solver::run_worker(*limits);
            fail(program, "`retrace worker` is started by solvers and verifiers");
            return kWrongUsage;
        };
    });
}

}  // namespace retrace::node::cli
