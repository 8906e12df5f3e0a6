// SPDX-License-Identifier: MIT
// retrace solver, retrace verifier
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "node/cli/party_options.hpp"
#include "node/log.hpp"
#include "node/service/solver_service.hpp"
#include "node/service/verifier_service.hpp"
#include "node/units.hpp"

namespace retrace::node::cli {
namespace {

struct SolverFlags {
    AgentFlags agent;
    std::string price;
    std::uint8_t hardware_class = 0;
    std::vector<std::uint64_t> only;
    bool pay_for_retention = false;
};
struct VerifierFlags {
    AgentFlags agent;
    std::uint64_t watch_bp = 0;
};

Result<SolverOptions> solver_options(const SolverFlags& flags) {
    SolverOptions out;
    RETRACE_TRY(party, party_options(flags.agent));
    out.party = std::move(party);
    out.hardware_class = flags.hardware_class;
    out.pay_for_retention = flags.pay_for_retention;
    out.only_tasks.insert(flags.only.begin(), flags.only.end());
    if (!flags.price.empty()) {
        out.price = parse_coins(flags.price);
        if (!out.price) return error("--price must be coins for a segment, like 0.5");
    }
    if (!flags.agent.cheat.empty()) {
        out.fraud = solver::parse_fraud(flags.agent.cheat);
        if (!out.fraud) return error("--cheat: ulp, skip_steps, wrong_data, stale_checkpoint or silent");
    }
    return out;
}

Result<VerifierOptions> verifier_options(const VerifierFlags& flags) {
    VerifierOptions out;
    RETRACE_TRY(party, party_options(flags.agent));
    out.party = std::move(party);
    out.watch_bp = flags.watch_bp;
    if (!flags.agent.cheat.empty()) {
        out.fraud = verifier::parse_verifier_fraud(flags.agent.cheat);
        if (!out.fraud) return error("--cheat: false_accuser, copier or never_reveals");
    }
    return out;
}

template <class Service, class Options>
int run_service(const Program& program, const AgentFlags& flags, const Result<Options>& options) {
    if (!options) {
        fail(program, options.error().message);
        return kWrongUsage;
    }
    set_up_log(flags.log_level);
    auto key = unlock(flags.key);
    if (!key) return fail(program, key.error().message);
    auto service = Service::open(*options, std::move(*key));
    if (!service) return fail(program, service.error().message);
    return run_until_signal([&](const std::atomic<bool>& stop) { (*service)->run(stop); });
}

}  // namespace

void add_solver(CLI::App& app, Program& program) {
    CLI::App* command = app.add_subcommand("solver", "Earn by training: bid for tasks, train, answer audits");
    auto flags = std::make_shared<SolverFlags>();
    add_agent_options(*command, flags->agent);
    command->add_option("--price", flags->price,
                        "Coins asked for a segment (four fifths of a task's ceiling)");
    command->add_option("--hardware-class", flags->hardware_class,
                        "Class of this machine, for tasks that ask for one");
    command->add_flag("--pay-for-retention", flags->pay_for_retention,
                      "Pay verifiers for keeping states, to be paid between audits");
    command->add_option("--only", flags->only, "Bid for these tasks alone");
    command->callback([&program, flags] {
        program.run = [&program, flags] {
            return run_service<SolverService>(program, flags->agent, solver_options(*flags));
        };
    });
}

void add_verifier(CLI::App& app, Program& program) {
    CLI::App* command =
        app.add_subcommand("verifier", "Earn by checking: replay what is drawn, dispute what is wrong");
    auto flags = std::make_shared<VerifierFlags>();
    add_agent_options(*command, flags->agent);
    command
        ->add_option("--watch", flags->watch_bp,
                     "Basis points of all opened segments to replay unasked; what is wrong is challenged")
        ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{10'000}));
    command->callback([&program, flags] {
        program.run = [&program, flags] {
            return run_service<VerifierService>(program, flags->agent, verifier_options(*flags));
        };
    });
}

}  // namespace retrace::node::cli
