// SPDX-License-Identifier: MIT
// Shared by the subcommands of `retrace task`.
#pragma once

#include "node/agents/requester.hpp"
#include "node/cmd/cli.hpp"
#include "node/cmd/options.hpp"

namespace retrace::node::cli {

/// What becomes of segments when so many (counted up to what the task asks for) could be drawn to audit them.
std::string of_auditors(std::size_t possible, const TaskFile& task);

/// ~/.retrace/requester unless --data-dir says otherwise.
std::filesystem::path requester_folder(const std::string& data_dir);
/// Where the requester notes which folder a task was submitted from.
std::filesystem::path task_note(const std::string& data_dir, std::uint64_t chain_id, std::uint64_t task);
Result<std::unique_ptr<Store>> open_store(const std::string& data_dir);
/// A line that is drawn over while standard error is a terminal, and nothing otherwise.
void show_transfer(const ArtifactClient::Progress& progress);

void add_task_compile(CLI::App& task, Program& program);
void add_task_submit(CLI::App& task, Program& program);  ///< submit, upload, follow
void add_task_fetch(CLI::App& task, Program& program);
void add_task_run(CLI::App& task, Program& program);
void add_task_raise(CLI::App& task, Program& program);
void add_task_decide(CLI::App& task, Program& program);
void add_task_plan(CLI::App& task, Program& program);
void add_task_show(CLI::App& task, Program& program);  ///< show, list, cancel, accept, odds

}  // namespace retrace::node::cli
