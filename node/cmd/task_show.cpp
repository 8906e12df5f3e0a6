// SPDX-License-Identifier: MIT
// retrace task list, show, cancel, accept, odds
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iomanip>
#include <iostream>
#include <sstream>

#include "ledger/crypto/eip55.hpp"
#include "market/odds.hpp"
#include "node/agents/call_checks.hpp"
#include "node/agents/explained_task.hpp"
#include "node/agents/remote_state.hpp"
#include "node/cmd/task_options.hpp"
#include "node/platform/printable.hpp"
#include "node/platform/units.hpp"
#include "node/tasks/group_task.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;

json::object to_json(const TaskStatus& status) {
    json::array runs;
    for (const market::Run& run : status.runs) {
        runs.push_back(json::object{{"run", run.index},
                                    {"solver", ledger::to_checksum(run.solver)},
                                    {"state", std::string(market::slug(run.state))},
                                    {"price", run.price.to_decimal()},
                                    {"earned", run.earned.to_decimal()},
                                    {"first_state", run.first_state},
                                    {"next_state", run.next_state},
                                    {"paid", run.paid},
                                    {"waits_for_auditors", run.unaudited_since != 0}});
    }
    return {{"task", status.task.id},
            {"name", status.spec.name},
            {"state", std::string(market::slug(status.task.state))},
            {"requester", ledger::to_checksum(status.task.requester)},
            {"segments", status.spec.segments()},
            {"price_ceiling", status.spec.price_ceiling.to_decimal()},
            {"last_ceiling", std::max(status.auctions.first, status.spec.last_ceiling).to_decimal()},
            {"auctions", status.spec.auctions},
            {"auctions_failed", status.auctions.failed},
            {"auctions_left", status.auctions.left},
            {"next_ceiling",
             status.next_auction ? json::value(status.next_auction->ceiling.to_decimal()) : json::value(nullptr)},
            {"committed", status.committed},
            {"verified", status.verified},
            {"consented", status.consented},
            {"unverified", status.unverified},
            {"paid", status.paid},
            {"escrow", status.task.escrow.to_decimal()},
            {"audit_budget", status.task.audit_budget.to_decimal()},
            {"program_root", to_0x(view(status.spec.program_root))},
            {"runs", std::move(runs)}};
}

/// What a segment costs at most, now and later; nothing once the task has ended.
std::string auctions_line(const TaskStatus& status) {
    if (!status.next_auction) return {};
    const std::uint32_t left = status.next_auction->auctions;
    std::string out = "at most " + describe_coins(status.spec.price_ceiling) + " a segment";
    if (left != 0)
        out +=
            "; " + std::to_string(left) + (left == 1 ? " auction" : " auctions") + " may follow ones without winners";
    if (status.next_auction->ceiling != status.spec.price_ceiling)
        out += ", the next for at most " + describe_coins(status.next_auction->ceiling);
    if (left != 0 && status.spec.last_ceiling > status.next_auction->ceiling)
        out += ", the last for at most " + describe_coins(status.spec.last_ceiling);
    if (left != 0 && status.spec.pause_blocks != 0)
        out += ", with " + std::to_string(status.spec.pause_blocks) + " blocks between two";
    return out + "\n";
}

/// The numbers of the newest tasks, of one requester or of all, ascending.
std::vector<std::uint64_t> newest_tasks(const RemoteState& state, std::uint64_t count,
                                        const std::optional<ledger::Address>& requester) {
    constexpr std::size_t kNewest = 100;
    std::vector<std::uint64_t> out;
    for (std::uint64_t id = count; id != 0 && out.size() < kNewest; --id) {
        const auto task = requester ? contracts::views::task(state, id) : std::nullopt;
        if (!requester || (task && task->requester == *requester)) out.push_back(id);
    }
    std::reverse(out.begin(), out.end());
    return out;
}

int list(const Program& program, const SignerOptions& options, bool mine) {
    std::optional<ledger::Address> requester;
    if (mine) {
        const auto address = options.key.address();
        if (!address) return fail(program, address.error().message);
        requester = *address;
    }
    const auto at = options.chain.open();
    if (!at) return fail(program, at.error().message);
    const auto state = (*at)->chain.newest();
    if (!state) return fail(program, state.error().message);
    const std::uint64_t count = contracts::views::task_count(*state);
    if (state->failure()) return fail(program, state->failure()->message);
    json::array out;
    const std::vector<std::uint64_t> ids = newest_tasks(*state, count, requester);
    if (state->failure()) return fail(program, state->failure()->message);
    for (const std::uint64_t id : ids) {
        const auto status = task_status((*at)->chain, id);
        if (!status) return fail(program, status.error().message);
        if (program.json) {
            json::object line = to_json(*status);
            (*at)->add_proven(line);
            out.push_back(std::move(line));
        } else {
            std::cout << std::setw(6) << id << "  " << std::left << std::setw(12) << market::slug(status->task.state)
                      << std::right << std::setw(4) << status->paid << "/" << status->spec.segments() << " paid  "
                      << printable(status->spec.name) << '\n';
        }
    }
    std::cout << (program.json ? json::serialize(out) + "\n" : (*at)->proven_line());
    return kDone;
}

int show(const Program& program, const ChainOptions& options, std::uint64_t id) {
    const auto at = options.open();
    if (!at) return fail(program, at.error().message);
    const auto status = task_status((*at)->chain, id);
    if (!status) return fail(program, status.error().message);
    if (program.json) {
        json::object out = to_json(*status);
        (*at)->add_proven(out);
        std::cout << json::serialize(out) << '\n';
        return kDone;
    }
    const auto why = explained_task((*at)->chain, id);
    if (!why) return fail(program, why.error().message);
    std::cout << "task " << id << " \"" << printable(status->spec.name) << "\": " << market::slug(status->task.state)
              << ": " << why->why << "\n"
              << (why->remedy.empty() ? "" : "remedy: " + why->remedy + "\n") << "segments " << status->spec.segments()
              << ": committed " << status->committed << ", verified " << status->verified
              << (status->consented + status->unverified == 0
                      ? std::string()
                      : ", on members' own data checked by consent " + std::to_string(status->consented) +
                            " and unverified " + std::to_string(status->unverified))
              << ", paid " << status->paid << '\n'
              << auctions_line(*status) << "escrow " << describe_coins(status->task.escrow) << ", for audits "
              << describe_coins(status->task.audit_budget) << '\n';
    if (status->waiting) {
        std::cout << "segment " << status->waiting->segment << " of run " << status->waiting->run
                  << " waits for auditors; from height " << status->waiting->decide_from
                  << " `retrace task decide` pays for it or ends the run\n";
    }
    for (const market::Run& run : status->runs) {
        std::cout << "run " << run.index << " by " << ledger::to_checksum(run.solver) << ": " << market::slug(run.state)
                  << ", " << describe_coins(run.price) << " a segment, earned " << describe_coins(run.earned) << '\n';
    }
    std::cout << (*at)->proven_line();
    return kDone;
}

template <class Call>
int send_call(const Program& program, Session& session, const Call& call) {
    const auto outcome = session.submitter.execute(std::string(Call::kName), call);
    if (!outcome) return fail(program, outcome.error().message);
    if (program.json) {
        json::object out{{"tx", to_0x(view(outcome->hash))}, {"height", outcome->height}};
        session.at->add_proven(out);
        std::cout << json::serialize(out) << '\n';
    } else {
        std::cout << "done in block " << outcome->height << '\n';
    }
    return kDone;
}

int accept_model(const Program& program, const SignerOptions& options, std::uint64_t task) {
    const auto session = Session::open(options);
    if (!session) return fail(program, session.error().message);
    const auto fits = check_task_state((*session)->at->chain, task, "be accepted", {market::TaskState::delivering});
    if (!fits) return fail(program, fits.error().message);
    return send_call(program, **session, contracts::AcceptModel{task});
}

int cancel_task(const Program& program, const SignerOptions& options, std::uint64_t task) {
    const auto session = Session::open(options);
    if (!session) return fail(program, session.error().message);
    const auto cost = cost_of_cancel((*session)->at->chain, task);
    if (!cost) return fail(program, cost.error().message);
    if (!cost->is_zero())
        std::cerr << "this burns " << describe_coins_needed(*cost)
                  << " of the escrow, a thousandth of the stake that its bids lock" << std::endl;
    return send_call(program, **session, contracts::CancelTask{task});
}

int odds(const Program& program, const ChainOptions& options, const std::string& file) {
    const auto task = load_task_file(file);
    if (!task) return fail(program, task.error().message);
    const auto at = options.open();
    if (!at) return fail(program, at.error().message);
    const auto newest = (*at)->chain.newest();
    if (!newest) return fail(program, newest.error().message);
    const RemoteState& state = *newest;
    const auto params = contracts::views::params(state);
    if (state.failure()) return fail(program, state.failure()->message);
    if (!params) return fail(program, "the node at " + options.node.url + " has no Retrace contracts");
    market::TaskSpec spec;
    spec.steps = task->steps;
    spec.interval = task->interval;
    spec.price_ceiling = task->price_ceiling;
    spec.audit_bp = task->audit_bp;
    spec.auditors = task->auditors;
    const auto chance = market::effective_audit_probability(spec.audit_bp, params->collusion_bp, spec.auditors);
    const std::size_t possible = possible_auditors(state, *params, spec, ledger::Address{});
    if (state.failure()) return fail(program, state.failure()->message);
    // A member of a private group takes in records and trains in segments of their own; the odds are about the former.
    const std::uint64_t unverified = is_private(*task) ? task->group->rounds : 0;
    const std::uint64_t segments = is_private(*task) ? unverified : spec.segments();
    json::object detection;  // Empty if no auditor can be drawn.
    for (const std::uint64_t bad : {1, 2, 5, 10, 20, 50}) {
        if (possible == 0 || bad > segments) break;
        detection[std::to_string(bad)] = static_cast<double>(market::detection_ppm(chance, bad)) / 1e6;
    }
    auto floor = market::stake_floor(*params, spec);
    if (floor) *floor += rollback_stake_of(*task);
    const double cost = static_cast<double>(market::audit_cost_bp(*params, spec)) / 1e4;
    if (program.json) {
        json::object out{{"segments", segments},
                         {"unverified_segments", unverified},
                         {"detection", detection},
                         {"audit_cost_share", cost},
                         {"possible_auditors", possible},
                         {"paid_unaudited", task->allow_unaudited},
                         {"private_data", is_private(*task)},
                         {"stake", floor ? json::value(floor->to_decimal()) : json::value(nullptr)}};
        (*at)->add_proven(out);
        std::cout << json::serialize(out) << '\n';
        return kDone;
    }
    std::cout << std::fixed << std::setprecision(2);
    for (const auto& [bad, probability] : detection) {
        std::cout << std::setw(4) << std::string(bad) << " bad of " << segments << " segments: detected with "
                  << 100 * probability.as_double() << " %\n";
    }
    std::cout << "audits cost about " << 100 * cost << " % of the price ceiling\n"
              << "a bid locks " << (floor ? describe_coins_needed(*floor) : std::string("more than there can be"))
              << '\n'
              << (possible == 0
                      ? "the probability that a bad segment is detected is unknown, because no auditor can be drawn; "
                      : "the first and the last segment are always audited; ")
              << describe_auditors(possible, *task) << '\n'
              << (is_private(*task) ? std::string(kPrivateWords) + ": up to " + std::to_string(unverified) +
                                          " segments of each member\n"
                                    : std::string())
              << (*at)->proven_line();
    return kDone;
}

}  // namespace

void add_task_show(CLI::App& parent, Program& program) {
    struct Flags {
        SignerOptions signer;
        std::string file;
        std::uint64_t task = 0;
        bool mine = false;
    };
    const auto add = [&](const char* name, const char* what) {
        CLI::App* command = parent.add_subcommand(name, what);
        add_json(*command, program);
        return command;
    };
    auto flags = std::make_shared<Flags>();
    CLI::App* list_command = add("list", "List the newest tasks");
    flags->signer.add_to(*list_command);
    list_command->add_flag("--mine", flags->mine, "Only tasks of the account of --key or --dev-account");
    list_command->callback(
        [&program, flags] { program.run = [&program, flags] { return list(program, flags->signer, flags->mine); }; });
    CLI::App* show_command = add("show", "Show a task");
    show_command->add_option("ID", flags->task, "Task")->required();
    flags->signer.chain.add_to(*show_command);
    show_command->callback([&program, flags] {
        program.run = [&program, flags] { return show(program, flags->signer.chain, flags->task); };
    });
    CLI::App* cancel = add("cancel",
                           "Cancel a task before its bids are revealed; the escrow returns, less a thousandth of the "
                           "stake that its bids lock");
    cancel->add_option("ID", flags->task, "Task")->required();
    flags->signer.add_to(*cancel);
    cancel->callback([&program, flags] {
        program.run = [&program, flags] { return cancel_task(program, flags->signer, flags->task); };
    });
    CLI::App* accept = add("accept", "Accept the model; the stakes are released at once");
    accept->add_option("ID", flags->task, "Task")->required();
    flags->signer.add_to(*accept);
    accept->callback([&program, flags] {
        program.run = [&program, flags] { return accept_model(program, flags->signer, flags->task); };
    });
    CLI::App* odds_command =
        add("odds", "Show the probability that cheating is found, the cost of audits and the stake of a bid");
    odds_command->add_option("FILE", flags->file, "task.toml or its folder")->required();
    flags->signer.chain.add_to(*odds_command);
    odds_command->callback([&program, flags] {
        program.run = [&program, flags] { return odds(program, flags->signer.chain, flags->file); };
    });
}

}  // namespace retrace::node::cli
