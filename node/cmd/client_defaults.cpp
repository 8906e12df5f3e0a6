// SPDX-License-Identifier: MIT
#include "node/cmd/client_defaults.hpp"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "node/platform/flag_file.hpp"

namespace retrace::node::cli {
namespace {

struct Variable {
    const char *name, *flag;
};
constexpr Variable kVariables[] = {
    {"RETRACE_NODE", "--node"}, {"RETRACE_KEY", "--key"}, {"RETRACE_PASSPHRASE_FILE", "--passphrase-file"}};
constexpr std::string_view kKeys[] = {"--node", "--tls-ca", "--tls-fingerprint", "--timeout",
                                      "--key",  "--keys",   "--passphrase-file", "--fiat"};

const CLI::App& chosen_command(const CLI::App& app, const std::vector<std::string>& arguments) {
    const CLI::App* command = &app;
    for (const std::string& argument : arguments) {
        const auto found = command->get_subcommands([&](const CLI::App* each) { return each->check_name(argument); });
        if (found.empty()) break;
        command = found.front();
    }
    return *command;
}

bool has_flag(const CLI::App& command, const std::string& flag) { return command.get_option_no_throw(flag) != nullptr; }

bool names(const std::vector<std::string>& arguments, std::string_view flag) {
    return std::any_of(arguments.begin(), arguments.end(),
                       [&](const std::string& each) { return each.substr(0, each.find('=')) == flag; });
}

/// Whether the arguments name another key or another trust in the node, with which the default cannot go together.
bool is_replaced(const std::vector<std::string>& arguments, std::string_view flag) {
    if (flag == "--key" || flag == "--passphrase-file")
        return names(arguments, "--dev-account") || (flag == "--passphrase-file" && names(arguments, "--key"));
    if (flag == "--tls-ca" || flag == "--tls-fingerprint")
        return names(arguments, "--node") || names(arguments, "--tls-ca") || names(arguments, "--tls-fingerprint");
    return false;
}

Result<std::vector<FileFlag>> flags_of_file() {
    const std::string path = client_file();
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return std::vector<FileFlag>{};
    // The file names the node that is believed and the key that signs.
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return error(path + ": " + std::strerror(errno));
    const bool foreign = info.st_uid != ::geteuid() && info.st_uid != 0;
    if (S_ISREG(info.st_mode) && (foreign || (info.st_mode & S_IWOTH) != 0))
        return error(path + " may have been written by another user: it must belong to you or root (chown), and not " +
                     "be writable by everybody (chmod o-w)");
    RETRACE_TRY(flags, load_flags(path));
    for (const FileFlag& flag : flags) {
        if (std::find(std::begin(kKeys), std::end(kKeys), flag.name) != std::end(kKeys) && flag.values.size() == 1)
            continue;
        std::string known;
        for (const std::string_view key : kKeys) known += (known.empty() ? "" : ", ") + std::string(key.substr(2));
        std::replace(known.begin(), known.end(), '-', '_');
        return error(path + ": " + flag.name.substr(2) + " is not one of " + known + ", each with one value");
    }
    return flags;
}

}  // namespace

std::string client_file() {
    if (const char* named = std::getenv("RETRACE_CONFIG"); named != nullptr && *named != 0) return named;
    const char* home = std::getenv("HOME");
    if (home == nullptr || *home == 0) {  // The current folder may be another user's.
        const passwd* const user = ::getpwuid(::geteuid());
        home = user != nullptr && user->pw_dir != nullptr ? user->pw_dir : "/";
    }
    return (std::filesystem::path(home) / ".retrace" / "client.toml").string();
}

Result<std::vector<std::string>> with_client_defaults(const CLI::App& app, std::vector<std::string> arguments) {
    const CLI::App& command = chosen_command(app, arguments);
    const std::vector<std::string> typed = arguments;
    std::vector<std::string> added;
    const auto add = [&](const std::string& flag, const std::string& value) {
        if (!has_flag(command, flag) || names(typed, flag) || names(added, flag) || is_replaced(typed, flag)) return;
        added.push_back(flag + "=" + value);
    };
    for (const Variable& variable : kVariables)
        if (const char* value = std::getenv(variable.name); value != nullptr && *value != 0) add(variable.flag, value);
    RETRACE_TRY(flags, flags_of_file());
    const std::vector<std::string> of_environment = added;
    for (const FileFlag& flag : flags)
        if (!is_replaced(of_environment, flag.name) || flag.name == "--passphrase-file")
            add(flag.name, flag.values.front());
    arguments.insert(arguments.end(), added.begin(), added.end());
    return arguments;
}

}  // namespace retrace::node::cli
