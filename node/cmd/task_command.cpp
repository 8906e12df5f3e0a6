// SPDX-License-Identifier: MIT
// retrace task …
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <thread>
#include <utility>

#include "node/cmd/task_options.hpp"

namespace retrace::node::cli {

std::filesystem::path requester_folder(const std::string& data_dir) {
    if (!data_dir.empty()) return data_dir;
    const char* home = std::getenv("HOME");
    return std::filesystem::path(home != nullptr ? home : ".") / ".retrace" / "requester";
}

std::filesystem::path task_note(const std::string& data_dir, std::uint64_t chain_id, std::uint64_t task) {
    return requester_folder(data_dir) / "tasks" / (std::to_string(chain_id) + "-" + std::to_string(task));
}

std::filesystem::path task_log(const std::string& data_dir, std::uint64_t chain_id, std::uint64_t task) {
    std::filesystem::path out = task_note(data_dir, chain_id, task);
    out += ".log";
    return out;
}

std::optional<TaskFile> compiled_task(const std::string& named, const std::string& data_dir, std::uint64_t chain_id,
                                      std::uint64_t id) {
    std::string folder = named;
    if (folder.empty()) {
        std::ifstream note(task_note(data_dir, chain_id, id));
        std::getline(note, folder);
    }
    auto task = folder.empty() ? Result<TaskFile>(error("")) : load_task_file(folder);
    return task ? std::optional(std::move(*task)) : std::nullopt;
}

Result<std::unique_ptr<Store>> open_store(const std::string& data_dir) {
    const auto folder = requester_folder(data_dir);
    std::error_code code;
    std::filesystem::create_directories(folder, code);
    if (code) return error(folder.string() + ": " + code.message());
    constexpr std::chrono::seconds kWait{600};  // Another command holds it for an upload or a fetch.
    const auto end = std::chrono::steady_clock::now() + kWait;
    for (bool told = false;; std::this_thread::sleep_for(std::chrono::milliseconds(100))) {
        auto store = Store::open(folder);
        if (store) return std::move(*store);
        if (store.error().fault != Fault::in_use || std::chrono::steady_clock::now() > end)
            return error(store.error().message);
        if (!std::exchange(told, true))
            std::cerr << "waiting for another command that uses " << folder.string() << std::endl;
    }
}

std::string describe_auditors(std::size_t possible, const TaskFile& task) {
    if (possible >= task.auditors) return "all " + std::to_string(task.auditors) + " auditors could be drawn now";
    const std::string lack = possible == 0 ? std::string("nobody is bonded who could audit: ")
                                           : "only " + std::to_string(possible) + " of " +
                                                 std::to_string(task.auditors) + " auditors could be drawn now: ";
    return lack + (task.allow_unaudited ? "without auditors, segments are paid though nobody audited them"
                                        : "segments wait, unpaid, until there are enough or you decide");
}

void warn_on_standard_error(const std::string& what) { std::cerr << "warning: " << what << std::endl; }

void show_transfer(const ArtifactClient::Progress& progress) {
    if (::isatty(STDERR_FILENO) == 0 || progress.of == 0) return;
    std::fprintf(stderr, "\r%s… %3llu %%%s", to_hex(view(progress.root)).substr(0, 12).c_str(),
                 static_cast<unsigned long long>(100 * progress.tiles / progress.of),
                 progress.tiles == progress.of ? "\n" : "");
}

void add_task(CLI::App& app, Program& program) {
    CLI::App* task = app.add_subcommand("task", "Buy training: compile, submit, follow, fetch");
    task->require_subcommand(1);
    add_task_compile(*task, program);
    add_task_plan(*task, program);
    add_task_submit(*task, program);
    add_task_show(*task, program);
    add_task_explain(*task, program);
    add_task_log(*task, program);
    add_task_challenge(*task, program);
    add_task_statement(*task, program);
    add_task_fetch(*task, program);
    add_task_run(*task, program);
    add_task_raise(*task, program);
    add_task_top_up(*task, program);
    add_task_decide(*task, program);
    add_task_admit(*task, program);
}

}  // namespace retrace::node::cli
