// SPDX-License-Identifier: MIT
// retrace task log
#include "node/cmd/task_log.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fstream>
#include <iostream>

#include "node/agents/event_log.hpp"
#include "node/cmd/block_progress.hpp"
#include "node/cmd/task_log_solver.hpp"
#include "node/cmd/task_options.hpp"
#include "node/platform/printable.hpp"
#include "node/platform/strict_json.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

std::optional<TaskLog::Line> line_of(const std::string& text) {
    const auto parsed = parse_json(view(std::string_view(text)), "a line");
    const json::object* const object = parsed ? parsed->if_object() : nullptr;
    const json::value* const height = object != nullptr ? object->if_contains("height") : nullptr;
    const json::value* const event = object != nullptr ? object->if_contains("event") : nullptr;
    // A number over 2^63 is one of the other kind.
    const bool whole = height != nullptr && (height->is_uint64() || (height->is_int64() && height->as_int64() >= 0));
    if (!whole || event == nullptr || !event->is_string()) return std::nullopt;
    return TaskLog::Line{height->to_number<std::uint64_t>(), printable(std::string(event->as_string()))};
}

/// The oldest block of which the node tells the events; 0 if it does not say.
std::uint64_t oldest_block(RpcClient& client) {
    const auto status = client.call("retrace_status", json::array{});
    const json::object* const object = status ? status->if_object() : nullptr;
    const json::value* const oldest = object != nullptr ? object->if_contains("oldest_block") : nullptr;
    if (oldest == nullptr || !oldest->is_number()) return 0;
    return oldest->to_number<std::uint64_t>();
}

struct LogFlags {
    ChainOptions chain;
    KeyOptions key;
    std::string data_dir;
    std::uint64_t task = 0;
    bool solver = false;  ///< Ask the solvers too.
};

/// Adds the events that the node has. Returns what the reader has to know about it; empty: nothing is missing.
Result<std::string> add_events(ChainSession& at, std::uint64_t task, TaskLog& log) {
    const auto status = task_status(at.chain, task);
    if (!status) return error(status.error().message);
    if (at.chain.proves()) return std::string("events are not proved: those are shown that were kept before");
    const std::uint64_t posted = status->task.posted_height, oldest = oldest_block(at.client);
    Status<> kept = Unit{};
    EventLog events(
        {},
        [&](std::uint64_t height, std::uint64_t of, const std::string& line) {
            if (of == task && kept) kept = log.add(height, printable(line));
        },
        std::max(posted, oldest) - (std::max(posted, oldest) == 0 ? 0 : 1));
    BlockProgress progress;
    const auto read = events.advance(at.client, pages_with(progress), status->height);
    RETRACE_CHECK(kept);
    if (!read)
        return "the node does not tell the events after block " + std::to_string(events.height()) + ": " +
               read.error().message + "; the same command reads them again";
    if (oldest <= posted) return std::string();
    return "the node keeps no blocks before " + std::to_string(oldest) +
           ": of the events before, those are shown that `retrace task follow` or this command has seen";
}

/// The log that the folder has of a task when the node cannot be asked for its chain.
Result<fs::path> kept_log(const std::string& data_dir, std::uint64_t task, const std::string& why) {
    const std::string ending = "-" + std::to_string(task) + ".log";
    std::vector<fs::path> found;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(requester_folder(data_dir) / "tasks", ignored))
        if (entry.path().filename().string().ends_with(ending)) found.push_back(entry.path());
    if (found.size() == 1) return found.front();
    return error(why + (found.empty() ? "; no log of task " + std::to_string(task) + " is kept here"
                                      : "; logs of this number are kept of several chains"));
}

void print(const Program& program, std::uint64_t task, const std::vector<TaskLog::Line>& lines,
           const std::string& solver = {}) {
    for (const TaskLog::Line& line : lines) {
        if (!program.json) {
            std::cout << "block " << line.height << "  " << line.text << '\n';
            continue;
        }
        json::object out{{"task", task}, {"height", line.height}, {"event", line.text}};
        if (!solver.empty()) out["solver"] = solver;
        std::cout << json::serialize(out) << '\n';
    }
}

/// Each solver's lines under its account, as its word.
void print_words(const Program& program, std::uint64_t task, const std::vector<SolverWord>& words) {
    for (const SolverWord& word : words) {
        if (!program.json) std::cout << "solver " << word.solver << " says (its own word, which nothing proves):\n";
        print(program, task, word.lines, word.solver);
        std::cout.flush();
        if (!word.missing.empty()) std::cerr << "note: solver " << word.solver << ": " << word.missing << std::endl;
    }
}

int show(const Program& program, const LogFlags& flags) {
    const auto at = flags.chain.open();
    const auto chain_id = at ? (*at)->chain.chain_id() : Result<std::uint64_t, RpcFailure>(Unexpected{RpcFailure{}});
    std::string missing;
    std::optional<TaskLog> log;
    if (at && chain_id) {
        log.emplace(task_log(flags.data_dir, *chain_id, flags.task));
        const auto added = add_events(**at, flags.task, *log);
        if (!added && log->lines().empty()) return fail(program, added.error().message);
        missing = added ? *added : added.error().message;
    } else {
        missing = at ? chain_id.error().message : at.error().message;
        const auto file = kept_log(flags.data_dir, flags.task, missing);
        if (!file) return fail(program, file.error().message);
        log.emplace(*file);
    }
    print(program, flags.task, log->lines());
    std::cout.flush();
    if (!missing.empty()) std::cerr << "note: " << missing << std::endl;
    if (log->is_full()) std::cerr << "note: " << log->full_note() << std::endl;
    if (!flags.solver) return kDone;
    if (!at || !chain_id) {
        print_words(program, flags.task, kept_words(flags.data_dir, flags.task));
        return kDone;
    }
    const auto words = ask_solvers(**at, flags.key, flags.data_dir, flags.task);
    if (!words) return fail(program, words.error().message);
    print_words(program, flags.task, *words);
    return kDone;
}

}  // namespace

TaskLog::TaskLog(fs::path file) : file_(std::move(file)) {
    std::ifstream in(file_);
    for (std::string text; std::getline(in, text);) {
        auto line = line_of(text);
        full_ = full_ || (line && lines_.size() == kLinesMax);
        if (full_) break;
        if (line) lines_.push_back(std::move(*line));
    }
    std::stable_sort(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) { return a.height < b.height; });
}

Status<> TaskLog::add(std::uint64_t height, const std::string& text) {
    const Line line{height, text};
    const auto above = std::upper_bound(lines_.begin(), lines_.end(), height,
                                        [](std::uint64_t at, const Line& one) { return at < one.height; });
    for (auto before = above; before != lines_.begin() && std::prev(before)->height == height; --before)
        if (*std::prev(before) == line) return Unit{};
    full_ = full_ || lines_.size() >= kLinesMax;
    if (full_) return Unit{};
    std::error_code ignored;
    fs::create_directories(file_.parent_path(), ignored);
    std::ofstream out(file_, std::ios::app);
    out << json::serialize(json::object{{"height", height}, {"event", text}}) << '\n';
    if (!out.flush()) return error(file_.string() + " cannot be written");
    lines_.insert(above, line);
    return Unit{};
}

std::string TaskLog::full_note() const {
    return file_.string() + " has " + std::to_string(kLinesMax) +
           " lines, and no later ones are kept: move it away to keep them";
}

void add_task_log(CLI::App& parent, Program& program) {
    CLI::App* command = parent.add_subcommand("log", "Tell what happened to a task, also when it is long over");
    auto flags = std::make_shared<LogFlags>();
    command->add_option("ID", flags->task, "Task")->required();
    flags->chain.add_to(*command);
    command->add_option("--data-dir", flags->data_dir, "The requester's store (~/.retrace/requester)");
    command->add_flag(
        "--solver", flags->solver,
        "Also ask the task's solvers what they did: times, retries, delays, in their own words; needs the "
        "requester's key");
    flags->key.add_to(*command);
    add_json(*command, program);
    command->callback([&program, flags] { program.run = [&program, flags] { return show(program, *flags); }; });
}

}  // namespace retrace::node::cli
