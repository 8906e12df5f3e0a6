// SPDX-License-Identifier: MIT
#include "node/cli/cli.hpp"

#include <termios.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "node/cli/commands.hpp"

namespace retrace::node::cli {
namespace {

constexpr std::size_t kPassphraseMax = 1024;

/// Switches the terminal's echo off for as long as it lives.
class Silence {
public:
    Silence() {
        if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
        termios silent = before_;
        silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
        changed_ = ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent) == 0;
    }
    ~Silence() {
        if (changed_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
    }
    Silence(const Silence&) = delete;
    Silence& operator=(const Silence&) = delete;

private:
    termios before_{};
    bool changed_ = false;
};

Result<std::string> ask(std::string_view prompt) {
    std::cerr << prompt << ": " << std::flush;
    std::string line;
    const Silence silence;
    const bool read = static_cast<bool>(std::getline(std::cin, line));
    std::cerr << '\n';
    if (!read) return error("no passphrase was typed");
    return line;
}

}  // namespace

CLI::Option* add_json(CLI::App& command, Program& program) {
    return command.add_flag("--json", program.json, "Print one JSON value on standard output");
}

int fail(const Program& program, const std::string& message) {
    std::cerr << "error: " << message << '\n';
    if (program.json) std::cout << boost::json::serialize(boost::json::object{{"error", message}}) << '\n';
    return kFailed;
}

Result<std::string> read_passphrase(const std::string& path, std::string_view prompt, bool twice) {
    if (!path.empty()) {
        std::ifstream file(path);
        std::string line;
        if (!file || !std::getline(file, line)) return error("cannot read a passphrase from " + path);
        if (line.size() > kPassphraseMax) return error(path + ": a passphrase has at most 1024 bytes");
        if (!line.empty() && line.back() == '\r') line.pop_back();
        return line;
    }
    if (::isatty(STDIN_FILENO) == 0) {
        return error("no terminal to ask for the passphrase: give --passphrase-file FILE");
    }
    RETRACE_TRY(first, ask(prompt));
    if (!twice) return first;
    RETRACE_TRY(second, ask("the same again"));
    if (first != second) return error("the two passphrases differ");
    return first;
}

int run_main(int argc, char** argv) {
    CLI::App app("Retrace: a market for machine-learning computation that anybody can check", "retrace");
    app.require_subcommand(1);
    Program program;
    for (const AddCommand add : commands()) add(app, program);
    // CLI11 would only say that a subcommand is missing.
    const auto named = [&](CLI::App* command) { return command->check_name(argv[1]); };
    if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(named).empty()) {
        fail(program, "there is no command \"" + std::string(argv[1]) + "\"; `retrace --help` lists them");
        return kWrongUsage;
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? kDone : kWrongUsage;
    }
    return program.run ? program.run() : kWrongUsage;
}

}  // namespace retrace::node::cli
