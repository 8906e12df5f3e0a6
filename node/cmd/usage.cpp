// SPDX-License-Identifier: MIT
#include "node/cmd/usage.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <numeric>
#include <sstream>

namespace retrace::node::cli {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kDescriptions = 30;  // The column in which CLI11 begins descriptions.
constexpr std::size_t kSimilar = 2;        // Most letters that differ.

/// The edit distance of Levenshtein, in which two letters that are exchanged count as two changes.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({row[j + 1] + 1, row[j] + 1, replaced});
        }
    }
    return row.back();
}

/// Leaves out groups of options, which CLI11 keeps as commands without a name, and commands that help does not list.
bool is_command(const CLI::App* each) { return !each->get_name().empty() && !each->get_group().empty(); }

std::string most_similar(const CLI::App& parent, const std::string& word) {
    std::string best;
    std::size_t least = kSimilar + 1;
    for (const CLI::App* command : parent.get_subcommands(is_command)) {
        const std::size_t changes = distance(word, command->get_name());
        if (changes >= least) continue;
        least = changes;
        best = command->get_name();
    }
    return best;
}

/// Appends `line` broken at blanks, later parts after `indent` blanks.
void append_wrapped(const std::string& line, std::size_t indent, std::string& out) {
    std::string left = line;
    while (left.size() > kColumns) {
        const std::size_t blank = left.rfind(' ', kColumns);
        if (blank == std::string::npos || blank <= indent) break;  // One word is longer than a line.
        out += left.substr(0, blank) + '\n';
        left = std::string(indent, ' ') + left.substr(blank + 1);
    }
    out += left + '\n';
}

}  // namespace

std::string wrapped_help(const std::string& help) {
    std::istringstream lines(help);
    std::string out, line;
    while (std::getline(lines, line)) {
        const bool described = line.size() > kDescriptions && line.substr(0, 2) == "  ";
        append_wrapped(line, described ? kDescriptions : 0, out);
    }
    return out;
}

std::vector<std::string> with_help_last(std::vector<std::string> arguments) {
    if (arguments.empty()) return arguments;
    if (arguments.front() == "--version") arguments.front() = "version";
    if (arguments.front() != "help") return arguments;
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
    return arguments;
}

std::string wrong_command(const CLI::App& app, const std::vector<std::string>& arguments) {
    const CLI::App* command = &app;
    std::string path = "retrace";
    for (std::size_t i = 0;; ++i) {
        const auto all = command->get_subcommands(is_command);
        if (all.empty() || command->get_require_subcommand_min() == 0) return {};
        if (i == arguments.size() || arguments[i].starts_with('-')) {
            if (std::find(arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end(), "--help") !=
                    arguments.end() ||
                std::find(arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end(), "-h") != arguments.end())
                return {};
            std::string names;
            for (const CLI::App* each : all) names += (names.empty() ? "" : ", ") + each->get_name();
            return "`" + path + "` needs a command: " + names;
        }
        const auto found =
            command->get_subcommands([&](const CLI::App* each) { return each->check_name(arguments[i]); });
        if (found.empty()) {
            const std::string similar = most_similar(*command, arguments[i]);
            return "there is no command \"" + arguments[i] + "\" of `" + path + "`; " +
                   (similar.empty() ? "" : "did you mean `" + path + " " + similar + "`? ") + "`" + path +
                   " --help` lists them";
        }
        command = found.front();
        path += " " + command->get_name();
    }
}

}  // namespace retrace::node::cli
