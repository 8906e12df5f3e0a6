// SPDX-License-Identifier: MIT
// retrace demo
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <csignal>
#include <iostream>
#include <thread>

#include "node/cmd/cli.hpp"
#include "node/cmd/demo/demo.hpp"
#include "node/cmd/demo/rounds_demo.hpp"
#include "node/platform/log.hpp"
#include "node/platform/process.hpp"

namespace retrace::node::cli {
namespace {

int print(const Program& program, const Result<boost::json::object>& facts,
          std::string (*table)(const boost::json::object&)) {
    if (!facts) return fail(program, facts.error().message);
    if (program.json)
        std::cout << boost::json::serialize(*facts) << '\n';
    else
        std::cout << table(*facts);
    return kDone;
}

std::string joined(const std::vector<std::string>& names) {
    std::string out;
    for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
    return out;
}

int run_rounds(const Program& program, const DemoOptions& options, bool rolls_back) {
    RoundsDemoOptions rounds;
    rounds.cheat = options.cheat;
    rounds.rolls_back = rolls_back;
    rounds.folder = options.folder;
    rounds.executable = options.executable;
    rounds.block_ms = options.block_ms;
    rounds.validators = options.validators;
    rounds.timeout_s = options.timeout_s;
    rounds.quiet = options.quiet;
    return print(program, run_rounds_demo(rounds), rounds_demo_table);
}

volatile std::sig_atomic_t interrupted = 0;

/// Keeps the network up after the demo until the process is told to end.
void wait_for_interrupt() {
    std::signal(SIGINT, [](int) { interrupted = 1; });
    std::signal(SIGTERM, [](int) { interrupted = 1; });
    std::cerr << "the network stays up to be looked at: Ctrl-C ends it" << std::endl;
    while (interrupted == 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
}

int run_single(const Program& program, DemoOptions options, bool open) {
    if (!open) return print(program, run_demo(options), demo_table);
    options.at_end = [&program](const boost::json::object& facts) {
        print(program, facts, demo_table);
        std::cout.flush();
        wait_for_interrupt();
    };
    const auto facts = run_demo(options);
    return facts ? kDone : fail(program, facts.error().message);
}

using Names = std::vector<std::string>;
const Names kCheats{"ulp", "skip_steps", "wrong_data", "stale_checkpoint", "silent", "none", "false_accuser"};

}  // namespace

void add_demo(CLI::App& app, Program& program) {
    CLI::App* command = app.add_subcommand(
        "demo", "Run the whole market on this machine: post, train, audit, dispute, slash, pay, fetch");
    auto options = std::make_shared<DemoOptions>();
    command->add_option(
        "--cheat", options->cheat,
        "The fraud to commit (ulp): " + joined(kCheats) + "; with --rounds " + joined(rounds_demo_cheats()));
    auto in_rounds = std::make_shared<bool>(false);
    CLI::Option* rounds =
        command->add_flag("--rounds", *in_rounds,
                          "Train by eight members in rounds: one cheats, one stays away for a while, one joins late");
    auto on_fraud = std::make_shared<std::string>("keep");
    command
        ->add_option("--on-fraud", *on_fraud, "With --rounds: keep the records after a conviction, or rollback (keep)")
        ->check(CLI::IsMember({"keep", "rollback"}))
        ->needs(rounds);
    command->add_option("--folder", options->folder,
                        "Keep everything here (default: a temporary folder, removed on success)");
    command->add_option("--steps", options->steps, "Training steps of a task (900)")->excludes(rounds);
    command->add_option("--checkpoint-every", options->interval, "Steps between checkpoints (100)")->excludes(rounds);
    command->add_option("--block-ms", options->block_ms, "Milliseconds between blocks (200)");
    auto engine = std::make_shared<std::string>("solo");
    command->add_option("--engine", *engine, "solo: one node; comet: four validators on CometBFT (solo)")
        ->check(CLI::IsMember({"solo", "comet"}));
    command->add_option("--timeout", options->timeout_s, "Seconds after which the demo fails (300)");
    command->add_flag("--quiet", options->quiet, "Do not tell what happens while it happens");
    auto open = std::make_shared<bool>(false);
    command->add_flag("--open", *open, "Keep the network up at the end, to be looked at in the console")
        ->excludes(rounds);
    add_json(*command, program);
    command->callback([&program, options, engine, in_rounds, on_fraud, open] {
        const Names& cheats = *in_rounds ? rounds_demo_cheats() : kCheats;
        if (std::find(cheats.begin(), cheats.end(), options->cheat) == cheats.end())
            throw CLI::ValidationError("--cheat", "must be one of " + joined(cheats));
        program.run = [&program, options, engine, in_rounds, on_fraud, open] {
            set_up_log("warn");
            options->executable = own_executable();
            if (*engine == "comet") options->validators = 4;
            return *in_rounds ? run_rounds(program, *options, *on_fraud == "rollback")
                              : run_single(program, *options, *open);
        };
    });
}

}  // namespace retrace::node::cli
