// SPDX-License-Identifier: MIT
// The command line: each subcommand has its own file and a function that adds it to the program.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/crypto/secret.hpp"
#include "merkle/base/result.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace retrace::node::cli {

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kWrongUsage = 2;

/// Result of parsing the command line.
struct Program {
    bool json = false;         ///< --json was given: standard output carries one JSON value and nothing else.
    std::function<int()> run;  ///< Set by the callback of the chosen subcommand; returns the exit code.
};

/// Adds --json to a subcommand.
CLI::Option* add_json(CLI::App& command, Program& program);

/// Adds --threads to a subcommand that computes.
CLI::Option* add_threads(CLI::App& command, unsigned& threads);

/// Prints the error (on standard error without control characters, and as {"error": …} on standard output with --json)
/// and returns kFailed.
int fail(const Program& program, const std::string& message);

/// Warns on standard error if other users may read the secret in this file.
void warn_if_open(const std::string& path);

using AddCommand = void (*)(CLI::App& app, Program& program);

// Subcommands of this folder.
void add_node(CLI::App& app, Program& program);
void add_snapshot(CLI::App& app, Program& program);
void add_wallet(CLI::App& app, Program& program);
void add_data(CLI::App& app, Program& program);
void add_task(CLI::App& app, Program& program);
void add_stake(CLI::App& app, Program& program);
void add_solver(CLI::App& app, Program& program);
void add_verifier(CLI::App& app, Program& program);
void add_validator(CLI::App& app, Program& program);
void add_econ(CLI::App& app, Program& program);
void add_dp(CLI::App& app, Program& program);
void add_receipt(CLI::App& app, Program& program);
void add_reputation(CLI::App& app, Program& program);
void add_reservation(CLI::App& app, Program& program);
void add_demo(CLI::App& app, Program& program);
void add_testnet(CLI::App& app, Program& program);
void add_doctor(CLI::App& app, Program& program);
void add_version(CLI::App& app, Program& program);
void add_completion(CLI::App& app, Program& program);

/// Parses the words after the program's name and runs nothing. The error is that of a wrong usage.
Status<> check_command_line(std::vector<std::string> words);

/// Parses the command line and runs it; returns the exit code.
int run_main(int argc, char** argv);

/// Reads a passphrase from a file, or from a prompt without echo when `path` is empty. `twice` asks again and compares,
/// for new secrets.
Result<ledger::SecretText> read_passphrase(const std::string& path, std::string_view prompt, bool twice = false);

/// Reads a secret from a file: its first line without trailing spaces, at most 1024 bytes.
Result<ledger::SecretText> read_secret(const std::string& path);

}  // namespace retrace::node::cli
