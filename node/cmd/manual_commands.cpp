// SPDX-License-Identifier: MIT
// retrace completion, and the hidden command retrace man, which makes the manual pages of the packages.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "node/cmd/commands.hpp"
#include "node/cmd/manual/completion.hpp"
#include "node/cmd/manual/man_page.hpp"
#include "node/server/node.hpp"

namespace retrace::node::cli {
namespace {

/// SOURCE_DATE_EPOCH, which a reproducible build sets, or the time.
std::uint64_t page_time() {
    const char* const given = std::getenv("SOURCE_DATE_EPOCH");
    if (given != nullptr) return std::strtoull(given, nullptr, 10);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(now).count());
}

int write_pages(const Program& program, const CLI::App& app, const std::string& folder) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    for (const ManPage& page : man_pages(command_tree(app), kVersion, page_time())) {
        const std::filesystem::path path = std::filesystem::path(folder) / page.file;
        std::ofstream file(path, std::ios::trunc);
        file << page.text;
        file.close();
        if (!file) return fail(program, path.string() + " could not be written; name a folder that this user may fill");
    }
    return kDone;
}

}  // namespace

void add_completion(CLI::App& app, Program& program) {
    CLI::App* command = app.add_subcommand("completion", "Print the script by which a shell completes commands");
    auto shell = std::make_shared<std::string>();
    command->add_option("shell", *shell, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
    command->footer(
        "For one shell:  source <(retrace completion bash)\n"
        "                retrace completion fish | source\n"
        "The Debian package installs the scripts of all three.");
    command->callback([&program, &app, shell] {
        program.run = [&app, shell] {
            std::cout << completion(command_tree(app), *shell_of(*shell));
            return kDone;
        };
    });
}

void add_man(CLI::App& app, Program& program) {
    CLI::App* command = app.add_subcommand("man", "Write the manual pages into a folder");
    command->group("");  // Hidden from --help.
    auto folder = std::make_shared<std::string>();
    command->add_option("folder", *folder, "The folder")->required();
    command->callback([&program, &app, folder] {
        program.run = [&program, &app, folder] { return write_pages(program, app, *folder); };
    });
}

}  // namespace retrace::node::cli
