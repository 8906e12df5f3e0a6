// SPDX-License-Identifier: MIT
#include "node/tasks/task_file.hpp"

#include <toml++/toml.h>

#include <fstream>
#include <limits>
#include <set>

#include "kernels/plan/regions.hpp"
#include "market/rollbacks.hpp"
#include "node/platform/units.hpp"

namespace retrace::node {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kRoundsMax = 1'000'000, kLocalMembersMax = 256;
constexpr std::uint64_t kBlocksMax = 100'000'000;
/// A step has at most 2^50 (kernels::Limits), and a member's segment many steps.
constexpr std::uint64_t kCostMax = std::numeric_limits<std::int64_t>::max();

/// Reads one table and records which keys were read, so that a misspelt key is an error instead of a default.
class TaskTable {
public:
    TaskTable(const toml::table& root, std::string name) : name_(std::move(name)), table_(root[name_].as_table()) {}

    std::optional<std::string> text(const char* key) {
        const toml::node* node = find(key);
        if (node == nullptr) return std::nullopt;
        const auto value = node->value_exact<std::string>();
        if (!value) fail(key, "must be a string in quotes");
        return value;
    }
    /// A file or folder in `folder`. What a task names is published with it, so the file of a task that somebody else made must
    /// not name what is private.
    std::optional<fs::path> path(const char* key, const fs::path& folder) {
        const auto value = text(key);
        if (!value) return std::nullopt;
        const fs::path named = fs::path(*value).lexically_normal();
        if (named.is_absolute() || named.empty() || *named.begin() == "..")
            fail(key,
                 "names what is outside of the task's folder, which posting would publish; copy it into the folder");
        return folder / *value;
    }
    std::optional<std::uint64_t> number(const char* key, std::uint64_t low, std::uint64_t high) {
        const toml::node* node = find(key);
        if (node == nullptr) return std::nullopt;
        const auto value = node->value_exact<std::int64_t>();
        if (!value || *value < 0 || static_cast<std::uint64_t>(*value) < low ||
            static_cast<std::uint64_t>(*value) > high) {
            fail(key, "must be a whole number from " + std::to_string(low) + " to " + std::to_string(high));
            return std::nullopt;
        }
        return static_cast<std::uint64_t>(*value);
    }
    std::optional<bool> flag(const char* key) {
        const toml::node* node = find(key);
        if (node == nullptr) return std::nullopt;
        const auto value = node->value_exact<bool>();
        if (!value) fail(key, "must be true or false");
        return value;
    }
    void require(const char* key, bool there) {
        if (!there) fail(key, "is missing");
    }
    void fail(const std::string& key, const std::string& what) {
        if (error_.empty()) error_ = "[" + name_ + "] " + key + " " + what;
    }
    /// Returns the first problem, including unknown keys; empty when there is none.
    std::string problem() {
        if (table_ != nullptr) {
            for (const auto& [key, node] : *table_) {
                if (!asked_.contains(std::string(key.str()))) fail(std::string(key.str()), "is not a known key");
            }
        }
        return error_;
    }

private:
    const toml::node* find(const char* key) {
        asked_.insert(key);
        return table_ == nullptr ? nullptr : table_->get(key);
    }

    std::string name_, error_;
    const toml::table* table_;
    std::set<std::string> asked_;
};

void read_task(TaskTable& table, const fs::path& folder, TaskFile& task) {
    const auto path = [&](const char* key) { return table.path(key, folder); };
    task.name = table.text("name").value_or("");
    if (task.name.size() > 64) table.fail("name", "must have at most 64 bytes");
    const auto program = path("program");
    table.require("program", program.has_value());
    task.program = program.value_or(fs::path{});
    task.initialiser = path("initialiser");
    task.initial_state = path("initial_state");
    if (task.initialiser.has_value() == task.initial_state.has_value()) {
        table.fail("initialiser", "or initial_state must be given, and not both");
    }
    task.evaluation = path("evaluation");
    task.module = path("module");
    const auto data = path("data");
    table.require("data", data.has_value());
    task.data = data.value_or(fs::path{});
    task.test_data = path("test_data");
    const auto steps = table.number("steps", 1, std::uint64_t{1} << 40);
    table.require("steps", steps.has_value());
    task.steps = steps.value_or(1);
    task.interval = table.number("checkpoint_every", 1, std::uint64_t{1} << 40).value_or(task.steps);
    task.seed = table.number("seed", 0, std::numeric_limits<std::int64_t>::max()).value_or(0);
}

void read_rounds(TaskTable& table, const fs::path& folder, TaskFile& task) {
    GroupTerms terms;
    const auto plan = table.path("plan", folder);
    const auto rounds = table.number("rounds", 1, kRoundsMax), members = table.number("members", 1, kLocalMembersMax),
               inner = table.number("inner", 1, kernels::kInnerStepsMax);
    table.require("plan", plan.has_value());
    table.require("rounds", rounds.has_value());
    table.require("members", members.has_value());
    table.require("inner", inner.has_value());
    terms.plan = plan.value_or(fs::path{});
    terms.rounds = rounds.value_or(1);
    terms.members = static_cast<std::uint32_t>(members.value_or(1));
    terms.inner = static_cast<std::uint32_t>(inner.value_or(1));
    if (!task.initialiser) table.fail("plan", "is for a task with an initialiser");
    const auto blocks = [&](const char* key, std::uint64_t& value) {
        value = table.number(key, 1, kBlocksMax).value_or(value);
    };
    const auto count = [&](const char* key, std::uint64_t low, std::uint64_t high) -> std::optional<std::uint32_t> {
        const auto value = table.number(key, low, high);
        return value ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
    };
    blocks("round_blocks", terms.round_blocks);
    blocks("grace_blocks", terms.grace_blocks);
    blocks("fetch_blocks", terms.fetch_blocks);
    blocks("reveal_blocks", terms.reveal_blocks);
    terms.least = count("least_members", 2, market::kMembersMax);
    terms.keep_rounds = count("keep_rounds", 1, market::kKeepRoundsMax).value_or(terms.keep_rounds);
    terms.absence_limit = count("absence_limit", 1, market::kKeepRoundsMax).value_or(terms.absence_limit);
    terms.catch_up_max = count("catch_up_max", 1, kernels::kPositionsMax);
    terms.max_age = count("max_age", 0, market::kKeepRoundsMax).value_or(0);
    terms.mask_bits = static_cast<std::uint8_t>(count("mask_bits", 0, 27).value_or(0));
    if (terms.mask_bits != 0) blocks("mask_blocks", terms.mask_blocks);
    terms.rollbacks = static_cast<std::uint8_t>(count("rollbacks", 0, market::kRollbacksMax).value_or(0));
    terms.ahead = count("ahead", 0, market::kAheadMax).value_or(0);
    terms.regions = count("regions", 0, kernels::kRegionsMax).value_or(0);
    blocks("merge_blocks", terms.merge_blocks);
    terms.private_data = table.flag("private").value_or(false);
    task.group = std::move(terms);
}

void read_market(TaskTable& table, TaskFile& task) {
    const auto ceiling = table.text("price_ceiling");
    table.require("price_ceiling", ceiling.has_value());
    const auto amount = ceiling ? parse_coins(*ceiling) : std::nullopt;
    if (ceiling && (!amount || amount->is_zero()))
        table.fail("price_ceiling", "must be coins for each segment, like \"0.5\"");
    task.price_ceiling = amount.value_or(ledger::U256{});
    task.audit_bp = static_cast<std::uint16_t>(table.number("audit_basis_points", 0, 10'000).value_or(task.audit_bp));
    task.auditors = static_cast<std::uint8_t>(table.number("auditors", 1, 5).value_or(task.auditors));
    task.replicas = static_cast<std::uint8_t>(table.number("replicas", 1, 5).value_or(task.replicas));
    task.allow_unaudited = table.flag("allow_unaudited").value_or(false);
    task.spot = table.flag("spot").value_or(false);
    if (task.spot && task.replicas != 1) table.fail("spot", "is for tasks with one replica");
    task.hardware_class = static_cast<std::uint8_t>(table.number("hardware_class", 0, 255).value_or(0));
    task.checkpoint_blocks = table.number("checkpoint_blocks", 1, kBlocksMax).value_or(task.checkpoint_blocks);
    task.replay_blocks = table.number("replay_blocks", 1, kBlocksMax).value_or(task.replay_blocks);
    task.finish_blocks = table.number("finish_blocks", 1, kBlocksMax).value_or(task.finish_blocks);
}

void read_compiled(TaskTable& table, TaskFile& task) {
    CompiledFacts facts;
    facts.step_cost = table.number("step_cost", 1, kCostMax).value_or(1);
    facts.message_cost = table.number("message_cost", 0, kCostMax).value_or(0);
    const auto contract = table.text("contract");
    table.require("contract", contract.has_value());
    const auto bytes = contract && contract->starts_with("0x") ? from_hex(contract->substr(2)) : std::nullopt;
    if (bytes && bytes->size() == Hash32::size())
        facts.contract = to_hash32(*bytes);
    else
        table.fail("contract", "must be 0x and 64 hex digits");
    task.compiled = facts;
}

}  // namespace

Result<TaskFile> load_task_file(const fs::path& path) {
    std::error_code ignored;
    const fs::path file = fs::is_directory(path, ignored) ? path / "task.toml" : path;
    if (!fs::is_regular_file(file, ignored)) {
        return error(file.string() + ": no such file; `retrace task compile` makes one");
    }
    toml::table root;
    try {
        root = toml::parse_file(file.string());
    } catch (const toml::parse_error& e) {
        return error(file.string() + ":" + std::to_string(e.source().begin.line) + ": " + std::string(e.description()));
    }
    for (const auto& [key, node] : root) {
        if (key.str() != "task" && key.str() != "market" && key.str() != "rounds" && key.str() != "compiled") {
            return error(file.string() + ": [" + std::string(key.str()) +
                         "] is not a known section; there are [task], [market], [rounds] and [compiled]");
        }
    }
    TaskFile task;
    TaskTable general(root, "task"), market(root, "market"), rounds(root, "rounds"), compiled(root, "compiled");
    read_task(general, fs::absolute(file).parent_path(), task);
    read_market(market, task);
    if (root.contains("rounds")) read_rounds(rounds, fs::absolute(file).parent_path(), task);
    if (root.contains("compiled")) read_compiled(compiled, task);
    for (TaskTable* table : {&general, &market, &rounds, &compiled}) {
        if (const std::string problem = table->problem(); !problem.empty())
            return error(file.string() + ": " + problem);
    }
    return task;
}

Status<> store_task_file(const TaskFile& task, const fs::path& folder) {
    const auto stored = [&](const fs::path& path) {
        const fs::path relative = fs::absolute(path).lexically_relative(fs::absolute(folder));
        return relative.empty() || *relative.begin() == ".." ? fs::absolute(path).string() : relative.string();
    };
    toml::table general{{"name", task.name},
                        {"program", stored(task.program)},
                        {"data", stored(task.data)},
                        {"steps", static_cast<std::int64_t>(task.steps)},
                        {"checkpoint_every", static_cast<std::int64_t>(task.interval)},
                        {"seed", static_cast<std::int64_t>(task.seed)}};
    if (task.initialiser) general.insert("initialiser", stored(*task.initialiser));
    if (task.initial_state) general.insert("initial_state", stored(*task.initial_state));
    if (task.module) general.insert("module", stored(*task.module));
    if (task.evaluation) general.insert("evaluation", stored(*task.evaluation));
    if (task.test_data) general.insert("test_data", stored(*task.test_data));
    toml::table root{{"task", general},
                     {"market", toml::table{{"price_ceiling", format_coins(task.price_ceiling)},
                                            {"audit_basis_points", task.audit_bp},
                                            {"auditors", task.auditors},
                                            {"replicas", task.replicas},
                                            {"hardware_class", task.hardware_class},
                                            {"allow_unaudited", task.allow_unaudited},
                                            {"spot", task.spot},
                                            {"checkpoint_blocks", static_cast<std::int64_t>(task.checkpoint_blocks)},
                                            {"replay_blocks", static_cast<std::int64_t>(task.replay_blocks)},
                                            {"finish_blocks", static_cast<std::int64_t>(task.finish_blocks)}}}};
    if (task.group) {
        const GroupTerms& group = *task.group;
        toml::table rounds{{"plan", stored(group.plan)},
                           {"rounds", static_cast<std::int64_t>(group.rounds)},
                           {"members", group.members},
                           {"inner", group.inner},
                           {"round_blocks", static_cast<std::int64_t>(group.round_blocks)},
                           {"grace_blocks", static_cast<std::int64_t>(group.grace_blocks)},
                           {"fetch_blocks", static_cast<std::int64_t>(group.fetch_blocks)},
                           {"reveal_blocks", static_cast<std::int64_t>(group.reveal_blocks)},
                           {"absence_limit", group.absence_limit},
                           {"keep_rounds", group.keep_rounds}};
        if (group.least) rounds.insert("least_members", *group.least);
        if (group.catch_up_max) rounds.insert("catch_up_max", *group.catch_up_max);
        if (group.max_age != 0) rounds.insert("max_age", group.max_age);
        if (group.mask_bits != 0) rounds.insert("mask_bits", group.mask_bits);
        if (group.mask_bits != 0) rounds.insert("mask_blocks", static_cast<std::int64_t>(group.mask_blocks));
        if (group.rollbacks != 0) rounds.insert("rollbacks", group.rollbacks);
        if (group.ahead != 0) rounds.insert("ahead", group.ahead);
        if (group.regions != 0) {
            rounds.insert("regions", group.regions);
            rounds.insert("merge_blocks", static_cast<std::int64_t>(group.merge_blocks));
        }
        if (group.private_data) rounds.insert("private", true);
        root.insert("rounds", std::move(rounds));
    }
    if (task.compiled) {
        toml::table facts{{"step_cost", static_cast<std::int64_t>(task.compiled->step_cost)},
                          {"contract", to_0x(view(task.compiled->contract))}};
        if (task.group) facts.insert("message_cost", static_cast<std::int64_t>(task.compiled->message_cost));
        root.insert("compiled", std::move(facts));
    }
    std::ofstream out(folder / "task.toml");
    out << root << "\n";
    out.flush();
    if (!out) return error((folder / "task.toml").string() + ": cannot be written");
    return Unit{};
}

}  // namespace retrace::node
