// SPDX-License-Identifier: MIT
// retrace solver explain
#include "node/cmd/solver_explain.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <filesystem>
#include <iostream>

#include "merkle/base/durable_file.hpp"
#include "node/cmd/quickstart.hpp"
#include "node/platform/printable.hpp"
#include "node/platform/strict_json.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;

constexpr std::size_t kFileMax = std::size_t{16} << 20;

void print_line(const std::string& task, bool taken, const std::string& why) {
    std::cout << "task " << task << ": " << (taken ? "bids: " : "no bid: ") << printable(why) << '\n';
}

/// The rows of a list of choices; rows that are not understood are left out.
void print_rows(const json::array& rows) {
    for (const json::value& one : rows) {
        const json::object* const choice = one.if_object();
        const json::value* const reason = choice != nullptr ? choice->if_contains("reason") : nullptr;
        if (reason == nullptr || !reason->is_string() || !choice->contains("task")) continue;
        const json::value* const taken = choice->if_contains("taken");
        if (const json::value* const height = choice->if_contains("height"))
            std::cout << "until block " << json::serialize(*height) << ", ";
        print_line(json::serialize(choice->at("task")), taken != nullptr && taken->is_bool() && taken->as_bool(),
                   std::string(reason->as_string()));
    }
}

/// What a reserved task keeps, from one entry of the file; entries that are not understood are left out.
void print_reserved(const json::value& one) {
    const json::object* const kept = one.if_object();
    if (kept == nullptr) return;
    for (const char* const name : {"reservation", "from", "until"})
        if (!kept->contains(name) || !kept->at(name).is_int64()) return;
    const json::value* const load = kept->if_contains("load");
    if (load == nullptr || !load->is_number()) return;
    std::cout << "reservation " << kept->at("reservation") << ": keeps " << percent(load->to_number<double>())
              << " of this machine's time for a task that may begin from block " << kept->at("from")
              << " and before block " << kept->at("until") << '\n';
}

int explain(const Program& program, const std::string& folder) {
    const std::filesystem::path path = std::filesystem::path(folder) / kChoicesFile;
    const auto bytes = read_file(path, kFileMax);
    if (!bytes)
        return fail(program, path.string() + " cannot be read: no solver has run with this --data-dir (" + folder +
                                 "); what one would choose is told by `retrace solver --dry-run`");
    const auto parsed = parse_json(View(*bytes), path.string());
    const json::object* const object = parsed ? parsed->if_object() : nullptr;
    const json::value* const list = object != nullptr ? object->if_contains("choices") : nullptr;
    if (list == nullptr || !list->is_array() || !object->contains("height"))
        return fail(program, path.string() + " is damaged; the solver writes it again at its next block");
    if (program.json) {
        std::cout << json::serialize(*object) << '\n';
        return kDone;
    }
    std::error_code failed;
    const auto written = std::filesystem::last_write_time(path, failed);
    std::cout << "at block " << json::serialize(object->at("height"));
    if (!failed) {
        const auto age = std::filesystem::file_time_type::clock::now() - written;
        std::cout << ", " << std::chrono::duration_cast<std::chrono::seconds>(age).count()
                  << " s ago, when its choice last changed";
    }
    std::cout << ":\n";
    if (list->as_array().empty()) std::cout << "no task takes bids\n";
    print_rows(list->as_array());
    const json::value* const earlier = object->if_contains("earlier");
    if (earlier != nullptr && earlier->is_array() && !earlier->as_array().empty()) {
        std::cout << "before, the newest first:\n";
        print_rows(earlier->as_array());
    }
    const json::value* const reserved = object->if_contains("reserved");
    if (reserved != nullptr && reserved->is_array())
        for (const json::value& one : reserved->as_array()) print_reserved(one);
    return kDone;
}

}  // namespace

int print_choices(const Program& program, const std::vector<Choice>& choices) {
    if (program.json) {
        std::cout << "{\"choices\":" << choices_json(choices) << "}\n";
        return kDone;
    }
    if (choices.empty()) std::cout << "no task takes bids\n";
    for (const Choice& choice : choices) print_line(std::to_string(choice.task), choice.taken, choice.why);
    return kDone;
}

void add_solver_explain(CLI::App& solver, Program& program) {
    CLI::App* command = solver.add_subcommand("explain", "Which tasks a running solver chose last and before, and why");
    command->footer("");  // Not the frauds of `solver`.
    auto folder = std::make_shared<std::string>(default_data_dir(AgentRole::solver));
    command->add_option("--data-dir", *folder, "The solver's folder (" + *folder + ")");
    add_json(*command, program);
    command->callback([&program, folder] { program.run = [&program, folder] { return explain(program, *folder); }; });
}

}  // namespace retrace::node::cli
