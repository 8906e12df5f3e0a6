// SPDX-License-Identifier: MIT
#include "node/cmd/manual/man_page.hpp"

#include <algorithm>
#include <ctime>

namespace retrace::node::cli {
namespace {

std::string day_of(std::uint64_t seconds) {
    const auto time = static_cast<std::time_t>(seconds);
    std::tm parts{};
    ::gmtime_r(&time, &parts);
    char text[16];
    std::strftime(text, sizeof text, "%Y-%m-%d", &parts);
    return text;
}

/// Text that roff prints as it is. A dash is written as the minus sign, which a reader can copy to a command line.
std::string plain(const std::string& text) {
    std::string out;
    bool at_start = true;
    for (const char c : text) {
        if (at_start && (c == '.' || c == '\'')) out += "\\&";
        at_start = c == '\n';
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else
            out += c;
    }
    return out;
}

std::string bold(const std::string& text) { return "\\fB" + plain(text) + "\\fR"; }

std::string value_of(const FlagInfo& flag) {
    if (!flag.takes_value) return {};
    std::string choices;
    for (const std::string& each : flag.choices) choices += (choices.empty() ? "" : "|") + each;
    return choices.empty() ? " \\fIVALUE\\fR" : " " + plain(choices);
}

/// Text of several lines, as a footer has them, line by line.
void append_lines(const std::string& text, std::string& out) {
    out += ".PP\n.nf\n";
    std::string line;
    for (const char c : text + "\n") {
        if (c != '\n') {
            line += c;
            continue;
        }
        out += line.empty() ? std::string(".sp\n") : plain(line) + '\n';
        line.clear();
    }
    out += ".fi\n";
}

void append_flags(const CommandInfo& command, std::string& out) {
    for (const FlagInfo& flag : command.flags) {
        std::string names;
        for (const std::string& name : flag.names) names += (names.empty() ? "" : ", ") + bold(name);
        out += ".TP\n" + names + (flag.positional ? std::string() : value_of(flag)) + '\n';
        out +=
            plain(flag.summary.empty() ? flag.names.front() : flag.summary) + (flag.required ? " (required)\n" : "\n");
    }
}

std::string synopsis(const CommandInfo& command) {
    std::string out = bold(command.path);
    if (!command.commands.empty()) out += " \\fICOMMAND\\fR";
    out += " [\\fIFLAG\\fR ...]";
    for (const FlagInfo& flag : command.flags)
        if (flag.positional)
            out += flag.required ? " \\fI" + plain(flag.names.front()) + "\\fR"
                                 : " [\\fI" + plain(flag.names.front()) + "\\fR]";
    return out + '\n';
}

std::string head(const std::string& name, const std::string& summary, const std::string& version, std::uint64_t time) {
    std::string title = name;
    std::transform(title.begin(), title.end(), title.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    return ".\\\" Written by `retrace man`.\n.TH " + title + " 1 " + day_of(time) + " \"retrace " + version +
           "\" \"Retrace\"\n.SH NAME\n" + plain(name) + " \\- " + plain(summary) + '\n';
}

void append_command(const CommandInfo& command, std::string& out) {
    append_flags(command, out);
    if (!command.footer.empty()) append_lines(command.footer, out);
    for (const CommandInfo& each : command.commands) {
        out += ".SS " + plain(each.path) + '\n' + plain(each.summary) + ".\n.PP\n" + synopsis(each);
        append_command(each, out);
    }
}

constexpr const char* kEnd =
    ".SH EXIT STATUS\n0: done; 1: failed; 2: wrong usage.\n"
    ".SH ENVIRONMENT\n.TP\n\\fBRETRACE_NODE\\fR, \\fBRETRACE_KEY\\fR, \\fBRETRACE_PASSPHRASE_FILE\\fR\n"
    "Defaults of \\fB\\-\\-node\\fR, \\fB\\-\\-key\\fR and \\fB\\-\\-passphrase\\-file\\fR, before those of\n"
    "\\fI~/.retrace/client.toml\\fR.\n";

}  // namespace

std::vector<ManPage> man_pages(const CommandInfo& tree, const std::string& version, std::uint64_t time) {
    std::vector<ManPage> out;
    std::string program =
        head(tree.name, tree.summary, version, time) + ".SH SYNOPSIS\n" + synopsis(tree) + ".SH COMMANDS\n";
    for (const CommandInfo& command : tree.commands) {
        const std::string name = tree.name + "-" + command.name;
        program += ".TP\n" + bold(name) + "(1)\n" + plain(command.summary) + '\n';
        std::string page = head(name, command.summary, version, time) + ".SH SYNOPSIS\n" + synopsis(command) +
                           (command.commands.empty() ? ".SH FLAGS\n" : ".SH FLAGS AND COMMANDS\n");
        append_command(command, page);
        out.push_back({name + ".1", page + kEnd + ".SH SEE ALSO\n" + bold(tree.name) + "(1)\n"});
    }
    program += ".SH FLAGS\n";
    append_flags(tree, program);
    if (!tree.footer.empty()) append_lines(tree.footer, program);
    out.push_back({tree.name + ".1", program + kEnd});
    return out;
}

}  // namespace retrace::node::cli
