// SPDX-License-Identifier: MIT
// retrace demo
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>

#include "node/cmd/cli.hpp"
#include "node/cmd/demo/demo.hpp"
#include "node/platform/log.hpp"
#include "node/platform/process.hpp"

namespace retrace::node::cli {

void add_demo(CLI::App& app, Program& program) {
    CLI::App* command = app.add_subcommand(
        "demo", "Run the whole market on this machine: post, train, audit, dispute, slash, pay, fetch");
    auto options = std::make_shared<DemoOptions>();
    command->add_option("--cheat", options->cheat, "The fraud to commit (ulp)")
        ->check(
            CLI::IsMember({"ulp", "skip_steps", "wrong_data", "stale_checkpoint", "silent", "none", "false_accuser"}));
    command->add_option("--folder", options->folder,
                        "Keep everything here (default: a temporary folder, removed on success)");
    command->add_option("--steps", options->steps, "Training steps of a task (900)");
    command->add_option("--checkpoint-every", options->interval, "Steps between checkpoints (100)");
    command->add_option("--block-ms", options->block_ms, "Milliseconds between blocks (200)");
    auto engine = std::make_shared<std::string>("solo");
    command->add_option("--engine", *engine, "solo: one node; comet: four validators on CometBFT (solo)")
        ->check(CLI::IsMember({"solo", "comet"}));
    command->add_option("--timeout", options->timeout_s, "Seconds after which the demo fails (300)");
    command->add_flag("--quiet", options->quiet, "Do not tell what happens while it happens");
    add_json(*command, program);
    command->callback([&program, options, engine] {
        program.run = [&program, options, engine] {
            set_up_log("warn");
            options->executable = own_executable();
            if (*engine == "comet") options->validators = 4;
            const auto facts = run_demo(*options);
            if (!facts) return fail(program, facts.error().message);
            if (program.json)
                std::cout << boost::json::serialize(*facts) << '\n';
            else
                std::cout << demo_table(*facts);
            return kDone;
        };
    });
}

}  // namespace retrace::node::cli
