// SPDX-License-Identifier: MIT
#include "node/cmd/cli.hpp"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <optional>

#include "kernels/runtime/dispatch.hpp"
#include "kernels/runtime/pages.hpp"
#include "node/cmd/client_defaults.hpp"
#include "node/cmd/commands.hpp"
#include "node/cmd/config_flags.hpp"
#include "node/cmd/renamed.hpp"
#include "node/cmd/usage.hpp"
#include "node/platform/permissions.hpp"
#include "node/platform/printable.hpp"

namespace retrace::node::cli {
namespace {

constexpr unsigned kThreadsMax = 1024;    // so that a mistyped number does not start a million threads
constexpr std::size_t kSecretMax = 1024;  // bytes of a passphrase, a mnemonic or a key

termios g_with_echo{};  // Signal handlers can access globals only.

/// SA_RESETHAND has restored the default action, which the second signal takes when the handler returns.
extern "C" void restore_echo(int signal) {
    ::tcsetattr(STDIN_FILENO, TCSANOW, &g_with_echo);
    ::raise(signal);
}

/// Switches the terminal's echo off while the object lives, or until a signal ends the process. Ctrl-Z does nothing
/// meanwhile: the shell would get a terminal without echo, and after `fg` the secret would be shown.
class NoEcho {
public:
    NoEcho() {
        if (::tcgetattr(STDIN_FILENO, &g_with_echo) != 0) return;
        for (std::size_t i = 0; i < kSignals.size(); ++i) {
            ::sigaction(kSignals[i], nullptr, &before_[i]);
            if (before_[i].sa_handler == SIG_IGN) continue;
            struct sigaction now {};
            now.sa_handler = kSignals[i] == SIGTSTP ? SIG_IGN : restore_echo;
            now.sa_flags = kSignals[i] == SIGTSTP ? 0 : static_cast<int>(SA_RESETHAND);
            ::sigaction(kSignals[i], &now, nullptr);
        }
        changed_ = true;
        termios silent = g_with_echo;
        silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
        ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
    }
    ~NoEcho() {
        if (!changed_) return;
        ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &g_with_echo);
        for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
    }
    NoEcho(const NoEcho&) = delete;
    NoEcho& operator=(const NoEcho&) = delete;

private:
    static constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
    std::array<struct sigaction, kSignals.size()> before_{};
    bool changed_ = false;
};

/// Reads one line byte by byte, so that no stream buffer keeps a copy of it. nullopt when there is none, or it is too
/// long.
std::optional<ledger::SecretText> read_line(int file) {
    ledger::SecretText line(kSecretMax);
    bool any = false;
    for (char c = 0;;) {
        const ssize_t size = ::read(file, &c, 1);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0 || (size == 0 && !any)) return std::nullopt;
        if (size == 0 || c == '\n') return line;
        any = true;
        if (!line.push_back(c)) return std::nullopt;
    }
}

Result<ledger::SecretText> ask(std::string_view prompt) {
    const NoEcho no_echo;  // Before the prompt: it discards what was typed, and an answer may follow at once.
    std::cerr << prompt << ": " << std::flush;
    auto line = read_line(STDIN_FILENO);
    std::cerr << '\n';
    if (!line) return error("no passphrase was typed, or one over 1024 bytes");
    return std::move(*line);
}

Result<ledger::SecretText> first_line(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    auto line = file < 0 ? std::nullopt : read_line(file);
    if (file >= 0) ::close(file);
    if (!line) return error("cannot read a line of at most 1024 bytes from " + path);
    warn_if_open(path);
    return std::move(*line);
}

int refuse(const Program& program, const std::string& message) {
    fail(program, message);
    return kWrongUsage;
}

/// A result that could not be written, for instance to a full disk, is a failure of the command.
int checked_output(int code) {
    errno = 0;
    std::cout.flush();
    const bool written = std::cout.good() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    if (written || code != kDone) return code;
    const std::string why = errno != 0 ? std::string(" (") + std::strerror(errno) + ")" : std::string();
    std::cerr << "error: standard output could not be written" << why
              << ", so a part of the result is lost; free space or name another file\n";
    return kFailed;
}

constexpr const char* kSummary = "Retrace: a market for machine-learning computation that anybody can check";

/// Adds the commands to `app`, which `program.run` may use, and parses the words after the program's name. Runs nothing;
/// an error is a wrong usage.
Status<> parse(CLI::App& app, Program& program, std::vector<std::string> typed) {
    app.require_subcommand(1);
    for (const AddCommand add : commands()) add(app, program);
    typed = with_help_last(std::move(typed));
    std::transform(typed.begin(), typed.end(), typed.begin(), with_current_name);
    // Checked here because CLI11 would only report a missing subcommand.
    if (const std::string wrong = wrong_command(app, typed); !wrong.empty()) return error(wrong);
    RETRACE_TRY(configured, with_config_flags(app, std::move(typed)));
    RETRACE_TRY(arguments, with_client_defaults(app, std::move(configured)));
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes the arguments in reverse order
    try {
        app.parse(std::move(arguments));
    } catch (const CLI::CallForHelp&) {
        program.run = [help = wrapped_help(app.help())] {
            std::cout << help;
            return kDone;
        };
    } catch (const CLI::ParseError& e) {
        return error(e.what() + std::string("; `retrace help COMMAND` shows its flags"));
    }
    return Unit{};
}

}  // namespace

CLI::Option* add_json(CLI::App& command, Program& program) {
    return command.add_flag("--json", program.json, "Print one JSON value on standard output");
}

CLI::Option* add_threads(CLI::App& command, unsigned& threads) {
    return command
        .add_option("--threads", threads,
                    "Threads of the kernels, at most " + std::to_string(kThreadsMax) + "; 0: all cores")
        ->check(CLI::Range(0u, kThreadsMax));
}

void warn_if_open(const std::string& path) {
    if (const auto warning = warning_if_open(path)) std::cerr << "warning: " << *warning << '\n';
}

int fail(const Program& program, const std::string& message) {
    std::cerr << "error: " << printable_lines(message) << '\n';  // It may quote a file or a node.
    if (program.json) std::cout << boost::json::serialize(boost::json::object{{"error", message}}) << '\n';
    return kFailed;
}

Result<ledger::SecretText> read_passphrase(const std::string& path, std::string_view prompt, bool twice) {
    if (!path.empty()) {
        RETRACE_TRY(line, first_line(path));
        if (line.view().ends_with('\r')) line.pop_back();
        return line;
    }
    if (::isatty(STDIN_FILENO) == 0) {
        return error("no terminal to ask for the passphrase: give --passphrase-file FILE");
    }
    RETRACE_TRY(first, ask(prompt));
    if (!twice) return first;
    RETRACE_TRY(second, ask("the same again"));
    if (first.view() != second.view()) return error("the two passphrases differ");
    return first;
}

Result<ledger::SecretText> read_secret(const std::string& path) {
    RETRACE_TRY(line, first_line(path));
    while (line.view().ends_with(' ') || line.view().ends_with('\r')) line.pop_back();
    return line;
}

Status<> check_command_line(std::vector<std::string> words) {
    CLI::App app(kSummary, "retrace");
    Program program;
    return parse(app, program, std::move(words));
}

int run_main(int argc, char** argv) {
    CLI::App app(kSummary, "retrace");
    Program program;
    std::vector<std::string> typed(argv + 1, argv + std::max(argc, 1));
    // Usage errors come before the flag is parsed.
    program.json = std::find(typed.begin(), typed.end(), "--json") != typed.end();
    if (const auto parsed = parse(app, program, std::move(typed)); !parsed)
        return refuse(program, parsed.error().message);
    (void)kernels::cpu_level();  // A wrong RETRACE_CPU ends the program here, not on a thread during a task.
    try {
        return program.run ? checked_output(program.run()) : kWrongUsage;
    } catch (const CLI::ParseError& e) {  // A flag that a command needs in some cases.
        return refuse(program, e.what());
    } catch (const kernels::NoMemory& e) {
        return fail(program, "out of memory: " + std::to_string(e.bytes()) + " bytes could not be allocated at once");
    } catch (const std::bad_alloc&) {
        return fail(program, "out of memory");
    } catch (const std::exception& e) {  // A device that failed, for instance.
        return fail(program, e.what());
    }
}

}  // namespace retrace::node::cli
