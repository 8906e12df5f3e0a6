// SPDX-License-Identifier: MIT
// retrace solver, retrace verifier
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <iostream>

#include "ledger/crypto/eip55.hpp"
#include "node/agents/solver_service.hpp"
#include "node/agents/verifier_service.hpp"
#include "node/cmd/cli.hpp"
#include "node/cmd/config_flags.hpp"
#include "node/cmd/machine/agent_console.hpp"
#include "node/cmd/options.hpp"
#include "node/cmd/private_data_flags.hpp"
#include "node/cmd/quickstart.hpp"
#include "node/cmd/quickstart_endpoint.hpp"
#include "node/cmd/solver_explain.hpp"
#include "node/cmd/solver_leave.hpp"
#include "node/platform/log.hpp"
#include "node/platform/units.hpp"

namespace retrace::node::cli {
namespace {

struct AgentFlags {
    NodeOptions node;
    TrustOptions trust;
    KeyOptions key;
    QuickstartFlags quickstart;
    std::string data_dir, listen, endpoint, stake, log_level = "info", cheat;
    std::uint16_t port = 0;
    std::optional<std::uint16_t> console_port;
    unsigned threads = 0;
    std::uint64_t memory_mib = 0;
    std::string offload;
    bool require_sandbox = false;
    std::vector<std::string> data;
    bool check_config = false;
    std::uint64_t poll_ms = 50, keep_blocks = 5'000;
};
struct SolverFlags {
    AgentFlags agent;
    std::string price, min_price;
    std::uint64_t stake_share = kStakeShare;
    bool dry_run = false;
    std::uint8_t hardware_class = 0;
    std::string device = "auto";
    std::vector<std::uint64_t> only;
    std::vector<std::string> consent, data_for;
    bool groups = false;
    bool pay_for_retention = false;
    double pace = 0;
    std::optional<std::uint64_t> cheat_segment;
};
struct VerifierFlags {
    AgentFlags agent;
    std::uint64_t watch_bp = 0;
};

/// Grace period in seconds: a loop may be inside a long training step, which is not waited for.
constexpr unsigned kStopSeconds = 3;

std::atomic<bool> g_stop{false}, g_drain{false};  // Signal handlers can access globals only.
std::atomic<int> g_code{kDone};

extern "C" void on_stop(int) {
    if (g_stop.exchange(true)) ::_exit(kFailed);
    ::alarm(kStopSeconds);
}
extern "C" void on_drain(int) {
    if (g_drain.exchange(true)) ::_exit(kFailed);
}
extern "C" void on_alarm(int) { ::_exit(g_code); }

/// Takes SIGINT and SIGTERM from now on; a second signal ends the process at once. All durable state of an agent is on
/// the chain and in atomically written files, so it can be stopped at any point.
void take_signals(void (*on_signal)(int)) {
    std::signal(SIGINT, on_signal);
    std::signal(SIGTERM, on_signal);
    std::signal(SIGALRM, on_alarm);
    std::signal(SIGPIPE, SIG_IGN);
}

Status<> run_until_signal(SolverService& service) {
    take_signals(on_drain);
    return service.run(g_stop, g_drain);
}
Status<> run_until_signal(VerifierService& service) {
    take_signals(on_stop);
    return service.run(g_stop);
}

void add_agent_options(CLI::App& command, AgentFlags& flags, const std::vector<CheatName>& cheats) {
    add_config_option(command);
    flags.node.add_to(command, "for ever at the start");
    flags.trust.add_to(command);
    flags.key.add_to(command);
    command.add_option("--data-dir", flags.data_dir,
                       "Folder of checkpoints and artifacts (with --quickstart ~/.retrace/ROLE)");
    flags.quickstart.add_to(command);
    command.add_option(
        "--listen", flags.listen,
        "Address to serve artifacts on (127.0.0.1; without --endpoint and with a node elsewhere 0.0.0.0)");
    command.add_option(
        "--port", flags.port,
        "Port to serve artifacts on; 0: any free one (without --endpoint and with a node elsewhere from 9000 on)");
    command.add_option("--endpoint", flags.endpoint,
                       "URL under which others reach that port (with a node elsewhere the address that it sees)");
    command.add_option("--console-port", flags.console_port,
                       "Port of this agent's own page, on 127.0.0.1 and with a token; 0: any free one (no page; with "
                       "--quickstart any free one)");
    command.add_option("--stake", flags.stake,
                       "Stake to bond, in coins (the chain's minimum; with --quickstart what work needs)");
    add_threads(command, flags.threads);
    command
        .add_option("--memory", flags.memory_mib,
                    "Memory for all tasks, in MiB; larger tasks are declined; 0: three quarters of the machine's")
        ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 40));
    command.add_option("--offload", flags.offload,
                       "Folder on a local disk for the states and activations of tasks that do not fit --memory");
    command.add_flag("--require-sandbox", flags.require_sandbox,
                     "Exit if the processes that run tasks cannot be sandboxed (seccomp)");
    command.add_flag("--check-config", flags.check_config, "Check the configuration and the flags, and exit");
    command.add_option("--poll-ms", flags.poll_ms, "Milliseconds between polls of the node (50)")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{60'000}));
    command.add_option("--keep-blocks", flags.keep_blocks,
                       "Blocks after the end of a task until its files are deleted (5000)");
    command.add_option("--log-level", flags.log_level, "trace, debug, info, warn, error, off")
        ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}));
    command.add_option("--cheat", flags.cheat, "Cheat in this way (listed below); refused outside developer chains");
    command.footer("Frauds of --cheat, for developer chains:\n" + list_cheats(cheats));
}

Result<AgentOptions> agent_options(const AgentFlags& flags) {
    AgentOptions out;
    out.node_url = flags.node.url;
    out.data_dir = flags.data_dir;
    out.listen_chosen = !flags.listen.empty();
    if (out.listen_chosen) out.listen = flags.listen;
    out.port = flags.port;
    out.endpoint = flags.endpoint;
    out.threads = flags.threads;
    out.memory = flags.memory_mib << 20;
    if (!flags.offload.empty()) out.offload = std::filesystem::absolute(flags.offload);
    out.require_sandbox = flags.require_sandbox;
    out.retention_blocks = flags.keep_blocks;
    out.poll = std::chrono::milliseconds(flags.poll_ms);
    if (flags.trust.given()) out.trust = flags.trust.block;
    if (flags.node.timeout_s) out.timeout = std::chrono::seconds(*flags.node.timeout_s);
    if (!flags.stake.empty()) {
        const auto stake = parse_coins(flags.stake);
        if (!stake) return error("--stake must be coins, like 10 or 0.5");
        out.stake = *stake;
    }
    return out;
}

Result<SolverOptions> solver_options(const SolverFlags& flags) {
    SolverOptions out;
    RETRACE_TRY(agent, agent_options(flags.agent));
    out.agent = std::move(agent);
    out.hardware_class = flags.hardware_class;
    out.device = *solver::parse_device(flags.device);
    out.pay_for_retention = flags.pay_for_retention;
    out.only_tasks.insert(flags.only.begin(), flags.only.end());
    out.groups = flags.groups;
    out.stake_share = flags.stake_share;
    RETRACE_CHECK(set_own_data({flags.agent.data, flags.data_for, flags.consent}, out));
    out.pace = flags.pace;
    if (!flags.price.empty()) {
        out.price = parse_coins(flags.price);
        if (!out.price) return error("--price must be coins for a segment, like 0.5");
    }
    if (!flags.min_price.empty()) {
        out.min_price = parse_coins(flags.min_price);
        if (!out.min_price) return error("--min-price must be coins for an hour of this machine, like 2.5");
        if (out.price) return error("--price and --min-price exclude each other: a bid has one price");
    }
    if (!flags.agent.cheat.empty()) {
        RETRACE_TRY(cheat, parse_solver_cheat(flags.agent.cheat));
        out.cheat = cheat;
        out.cheat->segment = flags.cheat_segment;
    } else if (flags.cheat_segment) {
        return error("--cheat-segment says where a fraud is; name one with --cheat");
    }
    return out;
}

Result<VerifierOptions> verifier_options(const VerifierFlags& flags) {
    VerifierOptions out;
    RETRACE_TRY(agent, agent_options(flags.agent));
    out.agent = std::move(agent);
    for (const std::string& text : flags.agent.data) {
        RETRACE_TRY(folder, parse_audited_data(text));
        out.agent.private_data.push_back(std::move(folder));
    }
    out.watch_bp = flags.watch_bp;
    if (!flags.agent.cheat.empty()) {
        RETRACE_TRY(attack, parse_verifier_cheat(flags.agent.cheat));
        out.attack = attack;
    }
    return out;
}

bool wants_gpu(const SolverOptions& options) { return options.device == solver::DeviceChoice::cuda; }
bool wants_gpu(const VerifierOptions&) { return false; }

bool finds_endpoint(const AgentFlags& flags) { return flags.listen.empty() && flags.endpoint.empty(); }

QuickstartFlags quickstart_of(const AgentFlags& flags) {
    QuickstartFlags out = flags.quickstart;
    out.finds_endpoint = finds_endpoint(flags);
    return out;
}

/// Does what SIGTERM does.
void stop_gently(const SolverService*) { g_drain = true; }
void stop_gently(const VerifierService*) {
    g_stop = true;
    ::alarm(kStopSeconds);
}

template <class Service, class Options>
int run_service(const Program& program, const AgentFlags& flags, AgentRole role, Result<Options> options) {
    const bool quick = flags.quickstart.on;
    if (options && options->agent.data_dir.empty() && !quick) options = error("--data-dir is required");
    if (options && !quick && (!flags.quickstart.words_file.empty() || flags.quickstart.skip_checks))
        options = error("--words-file and --skip-checks belong to --quickstart");
    if (!options) {
        fail(program, options.error().message);
        return kWrongUsage;
    }
    if (flags.check_config) return kDone;
    const bool has_page = quick || flags.console_port;
    const auto log = has_page ? std::make_shared<LogTail>() : nullptr;
    set_up_log(flags.log_level, log);
    if (options->agent.data_dir.empty()) options->agent.data_dir = default_data_dir(role);
    auto key = quick ? prepare_agent(role, quickstart_of(flags), flags.key, options->agent, wants_gpu(*options))
                     : flags.key.load();
    if (!key) {
        // systemd starts a service again after kFailed; a key that is missing or not opened by its passphrase stays so.
        fail(program, key.error().message);
        return quick ? kFailed : kWrongUsage;
    }
    if (!quick && finds_endpoint(flags))
        if (const auto taken = take_reached_endpoint(options->agent); !taken)
            return fail(program, taken.error().message);
    const std::string account = ledger::to_checksum(key->address());
    std::unique_ptr<machine::AgentConsole> console;
    if (has_page) {
        auto opened = machine::AgentConsole::open(
            {flags.console_port.value_or(0), std::string(name_of(role)), key->address(), wants_gpu(*options), log,
             [] { stop_gently(static_cast<const Service*>(nullptr)); }},
            options->agent);
        if (!opened) return fail(program, opened.error().message);
        console = std::move(*opened);
        std::cout << "its own page, for you alone: " << console->link() << std::endl;
    }
    auto service = Service::open(*options, std::move(*key));
    if (!service) return fail(program, service.error().message);
    if (quick) {
        const std::string url = flags.node.url.substr(0, flags.node.url.find('#'));
        std::cout << "its page in the node's console: " << url << "/#/account/" << account << '\n';
        std::cout << "step 5 of 5: earns from now on as a " << name_of(role) << "; the log tells what it does, and "
                  << "SIGTERM ends it" << std::endl;
    }
    const auto ended = run_until_signal(**service);
    if (!ended) g_code = fail(program, ended.error().message);
    ::alarm(kStopSeconds);  // The service's threads may be inside a long step.
    return g_code;
}

/// Says what the solver would do: its stake and registration, and the tasks that it would bid for.
int dry_run(const Program& program, const SolverFlags& flags) {
    auto options = solver_options(flags);
    if (!options) {
        fail(program, options.error().message);
        return kWrongUsage;
    }
    set_up_log(flags.agent.log_level == "info" ? "warn" : flags.agent.log_level);  // The choices are printed below.
    const bool named = flags.agent.key.dev_account || !flags.agent.key.key.empty();
    // Whoever has no key yet sees what a newcomer would choose.
    const auto key = named ? flags.agent.key.load() : Result<ledger::SecretKey>(ledger::SecretKey::random());
    if (!key) return fail(program, key.error().message);
    const auto stake = stake_of_newcomer(options->agent, key->address());
    if (!stake) return fail(program, stake.error().message);
    options->agent.stake = *stake;
    const auto choices = SolverService::dry_run(*options, key->address());
    return choices ? print_choices(program, *choices) : fail(program, choices.error().message);
}

}  // namespace

void add_solver(CLI::App& app, Program& program) {
    CLI::App* command = app.add_subcommand("solver", "Earn by training: bid for tasks, train, answer audits");
    auto flags = std::make_shared<SolverFlags>();
    add_agent_options(*command, flags->agent, solver_cheats());
    command->add_option("--price", flags->price,
                        "Price to bid for a segment, in coins (four fifths of a task's ceiling)");
    command->add_option("--min-price", flags->min_price,
                        "Coins that an hour of this machine must bring: bids ask for as much, and only for tasks that "
                        "fit its time; instead of --price");
    command
        ->add_option("--stake-share", flags->stake_share,
                     "Percent of the stake that one task may lock, so that none which comes to nothing keeps it from "
                     "all others; what a task of a coin a segment locks is allowed in any case (50)")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{100}));
    command->add_flag("--dry-run", flags->dry_run,
                      "Say for which open tasks it would bid and why, send nothing, and exit; needs no key");
    add_json(*command, program);
    add_solver_explain(*command, program);
    add_solver_leave(*command, program);
    command
        ->add_option("--device", flags->device, "Device to train on: cpu, cuda, or auto for cuda if available (auto)")
        ->check(CLI::IsMember({"cpu", "cuda", "auto"}));
    command->add_option("--hardware-class", flags->hardware_class,
                        "Hardware class of this machine, for tasks that require one");
    command->add_flag("--pay-for-retention", flags->pay_for_retention,
                      "Pay verifiers for keeping states, so that segments without an audit are paid earlier");
    command->add_option("--cheat-segment", flags->cheat_segment,
                        "Segment in which --cheat computes wrongly (the last of each task)");
    command->add_option("--only", flags->only, "Bid for these tasks only");
    command->add_flag("--groups", flags->groups,
                      "Take part in trainings in rounds: bid for seats, and join for free ones");
    command
        ->add_option(
            "--data", flags->agent.data,
            "Folder of a data set (`retrace data import`) on which it trains in private groups; nobody gets it")
        ->expected(1);
    command->add_option(
        "--data-for", flags->data_for,
        "Accounts of requesters whose programs may read that data set, and can publish it; ACCOUNT:ROOT "
        "for tasks of the plan with this root alone");
    command->add_option(
        "--consent", flags->consent,
        "Accounts that have that data set from you and may audit the training on it; without one that was "
        "named before, its consent is taken back");
    command
        ->add_option(
            "--pace", flags->pace,
            "Steps a second at most of a member of a group, for measurements; refused outside developer chains")
        ->check(CLI::PositiveNumber);
    command->callback([&program, flags, command] {
        if (!command->get_subcommands().empty()) return;  // `explain` or `leave` has set what runs.
        program.run = [&program, flags] {
            if (flags->dry_run) return dry_run(program, *flags);
            return run_service<SolverService>(program, flags->agent, AgentRole::solver, solver_options(*flags));
        };
    });
}

void add_verifier(CLI::App& app, Program& program) {
    CLI::App* command =
        app.add_subcommand("verifier", "Earn by auditing: replay drawn segments and dispute wrong ones");
    auto flags = std::make_shared<VerifierFlags>();
    add_agent_options(*command, flags->agent, verifier_cheats());
    command
        ->add_option("--watch", flags->watch_bp,
                     "Basis points of all opened segments to replay without being drawn; wrong ones are challenged")
        ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{10'000}));
    command->add_option("--data", flags->agent.data,
                        "TASK:ACCOUNT=FOLDER: the data set that the member ACCOUNT of the private training TASK gave "
                        "you; you audit its "
                        "training, and nobody gets the data. Consents of all others are withdrawn");
    command->callback([&program, flags] {
        program.run = [&program, flags] {
            return run_service<VerifierService>(program, flags->agent, AgentRole::verifier, verifier_options(*flags));
        };
    });
}

}  // namespace retrace::node::cli
