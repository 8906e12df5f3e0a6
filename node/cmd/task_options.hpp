// SPDX-License-Identifier: MIT
// Shared by the subcommands of `retrace task`.
#pragma once

#include "node/agents/requester.hpp"
#include "node/cmd/cli.hpp"
#include "node/cmd/options.hpp"

namespace retrace::node::cli {

/// Describes the audits of the segments if `possible` auditors (at most as many as the task asks for) could be drawn.
std::string describe_auditors(std::size_t possible, const TaskFile& task);

/// Whether the members of the task train on data of their own (contracts 21.13).
inline bool is_private(const TaskFile& task) { return task.group && task.group->private_data; }
/// What the odds of such a task are not about.
inline constexpr const char* kPrivateWords =
    "PRIVATE DATA: these odds and the stake are about segments that take in messages, which everybody can replay. What "
    "a "
    "member does on data of its own is checked by accounts to which it gives the data, which may be its own, and else "
    "by nobody";

/// Returns `data_dir`, or ~/.retrace/requester if it is empty.
std::filesystem::path requester_folder(const std::string& data_dir);
/// Returns the file that records from which folder a task was submitted.
std::filesystem::path task_note(const std::string& data_dir, std::uint64_t chain_id, std::uint64_t task);
/// Returns the file that has what happened to a task (TaskLog).
std::filesystem::path task_log(const std::string& data_dir, std::uint64_t chain_id, std::uint64_t task);
/// Loads the compiled task: from the named folder, or from the one that it was submitted from, if that still exists.
std::optional<TaskFile> compiled_task(const std::string& folder, const std::string& data_dir, std::uint64_t chain_id,
                                      std::uint64_t task);
/// Opens the requester's store, and waits up to ten minutes for another command that uses it.
Result<std::unique_ptr<Store>> open_store(const std::string& data_dir);
/// Prints a warning on standard error.
void warn_on_standard_error(const std::string& what);
/// Shows progress in a line that is overwritten if standard error is a terminal; otherwise prints nothing.
void show_transfer(const ArtifactClient::Progress& progress);

void add_task_compile(CLI::App& task, Program& program);
void add_task_submit(CLI::App& task, Program& program);  ///< submit, upload, follow
void add_task_fetch(CLI::App& task, Program& program);
void add_task_run(CLI::App& task, Program& program);
void add_task_raise(CLI::App& task, Program& program);
void add_task_top_up(CLI::App& task, Program& program);
void add_task_decide(CLI::App& task, Program& program);
void add_task_admit(CLI::App& task, Program& program);
/// Accounts in ascending order, each once.
Result<std::vector<ledger::Address>> parse_accounts(const std::vector<std::string>& texts);
void add_task_plan(CLI::App& task, Program& program);
void add_task_show(CLI::App& task, Program& program);  ///< show, list, cancel, accept, odds
void add_task_explain(CLI::App& task, Program& program);
void add_task_log(CLI::App& task, Program& program);
void add_task_challenge(CLI::App& task, Program& program);
void add_task_statement(CLI::App& task, Program& program);

}  // namespace retrace::node::cli
