// SPDX-License-Identifier: MIT
// retrace stake show, deposit, unbond, withdraw
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>

#include "contracts/records/views.hpp"
#include "ledger/crypto/eip55.hpp"
#include "node/agents/call_checks.hpp"
#include "node/agents/earnings.hpp"
#include "node/agents/remote_state.hpp"
#include "node/cmd/cli.hpp"
#include "node/cmd/options.hpp"
#include "node/platform/units.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;

struct StakeFlags {
    SignerOptions signer;
    AddressOptions address;
    std::string amount;
    bool restart = false;
};

json::object capability_json(const market::SolverInfo& solver, const std::optional<market::Challenge>& challenge) {
    json::object out{{"score", solver.capability}, {"measured_height", solver.capability_height}};
    if (!challenge) return out;
    out["challenge"] = challenge->id;
    out["state"] = std::string(market::slug(challenge->state));
    out["rounds"] = challenge->rounds;
    out["deadline"] = challenge->deadline;
    return out;
}

void print_capability(const market::SolverInfo& solver, const std::optional<market::Challenge>& challenge) {
    if (solver.capability != 0) {
        std::cout << "capability " << solver.capability << " multiply-adds a block, proved at block "
                  << solver.capability_height << '\n';
    } else {
        std::cout << "capability not measured\n";
    }
    if (!challenge) return;
    std::cout << "challenge " << challenge->id << ": " << market::slug(challenge->state);
    if (challenge->deadline != 0) std::cout << ", until block " << challenge->deadline;
    std::cout << '\n';
}

int print_stake(const Program& program, ChainSession& at, const ledger::Address& party) {
    const auto newest = at.chain.newest();
    if (!newest) return fail(program, newest.error().message);
    const RemoteState& state = *newest;
    const market::Stake stake = contracts::views::stake(state, party);
    const auto solver = contracts::views::solver(state, party);
    Earnings earned;
    const auto read = earned.advance(at.client, party, state.height());
    const auto challenge = solver ? contracts::views::challenge(state, solver->challenge) : std::nullopt;
    if (state.failure()) return fail(program, state.failure()->message);
    if (program.json) {
        json::object out{{"address", ledger::to_checksum(party)},
                         {"bonded", stake.bonded.to_decimal()},
                         {"locked", stake.locked.to_decimal()},
                         {"unbonding", stake.unbonding.to_decimal()},
                         {"unbond_height", stake.unbond_height}};
        if (read) {
            out["earned"] = earned.income().to_decimal();
            out["earned_segments"] = earned.segment_count;
            out["earned_audits"] = earned.audit_count;
            out["slashed"] = earned.slashed.to_decimal();
            out["earned_from_block"] = earned.first;
        }
        if (solver) out["capability"] = capability_json(*solver, challenge);
        at.add_proven(out);
        std::cout << json::serialize(out) << '\n';
        return kDone;
    }
    std::cout << "bonded " << describe_coins(stake.bonded) << ", of it locked " << describe_coins(stake.locked) << '\n';
    if (!stake.unbonding.is_zero()) {
        std::cout << "unbonding " << describe_coins(stake.unbonding) << ", free at block " << stake.unbond_height
                  << '\n';
    }
    if (read && earned.first != 0) {
        std::cout << "earned " << describe_coins(earned.income()) << " for " << earned.segment_count << " segments and "
                  << earned.audit_count << " audits, slashed " << describe_coins(earned.slashed) << ", since block "
                  << earned.first << (at.chain.proves() ? " (as the node says)" : "") << '\n';
    }
    if (solver) print_capability(*solver, challenge);
    std::cout << at.proven_line();
    return kDone;
}

int show(const Program& program, const StakeFlags& flags) {
    const auto party = flags.address.get();
    if (!party) {
        fail(program, party.error().message);
        return kWrongUsage;
    }
    const auto at = flags.signer.chain.open();
    if (!at) return fail(program, at.error().message);
    return print_stake(program, **at, *party);
}

enum class Verb : std::uint8_t { deposit, unbond, withdraw };

int change(const Program& program, const StakeFlags& flags, Verb verb) {
    const auto amount = flags.amount.empty() ? std::optional(ledger::U256{}) : parse_coins(flags.amount);
    if (!amount) {
        fail(program, "AMOUNT must be coins, like 10 or 0.5");
        return kWrongUsage;
    }
    const auto session = Session::open(flags.signer);
    if (!session) return fail(program, session.error().message);
    Submitter& submitter = (*session)->submitter;
    if (verb == Verb::unbond && !flags.restart) {
        const auto fits = check_nothing_unbonds((*session)->at->chain, submitter.address());
        if (!fits) return fail(program, fits.error().message);
    }
    const auto done = verb == Verb::deposit  ? submitter.execute("deposit", contracts::Deposit{}, *amount)
                      : verb == Verb::unbond ? submitter.execute("unbond", contracts::BeginUnbond{*amount})
                                             : submitter.execute("withdraw", contracts::Withdraw{});
    if (!done) return fail(program, done.error().message);
    return print_stake(program, *(*session)->at, submitter.address());
}

void add_change(CLI::App& parent, Program& program, const char* name, const char* what, Verb verb) {
    CLI::App* command = parent.add_subcommand(name, what);
    auto flags = std::make_shared<StakeFlags>();
    if (verb != Verb::withdraw) command->add_option("AMOUNT", flags->amount, "Coins")->required();
    if (verb == Verb::unbond)
        command->add_flag("--restart-wait", flags->restart,
                          "Also if something is unbonding, all of which then begins to wait again");
    flags->signer.add_to(*command);
    add_json(*command, program);
    command->callback(
        [&program, flags, verb] { program.run = [&program, flags, verb] { return change(program, *flags, verb); }; });
}

}  // namespace

void add_stake(CLI::App& app, Program& program) {
    CLI::App* stake = app.add_subcommand("stake", "Show, bond and withdraw the stake of a solver or verifier");
    stake->require_subcommand(1);
    CLI::App* command = stake->add_subcommand("show", "What a party has bonded");
    auto flags = std::make_shared<StakeFlags>();
    flags->address.add_to(*command);
    flags->signer.chain.add_to(*command);
    add_json(*command, program);
    command->callback([&program, flags] { program.run = [&program, flags] { return show(program, *flags); }; });
    add_change(*stake, program, "deposit", "Bond coins", Verb::deposit);
    add_change(*stake, program, "unbond", "Begin to free what is not locked", Verb::unbond);
    add_change(*stake, program, "withdraw", "Take out what has finished unbonding", Verb::withdraw);
}

}  // namespace retrace::node::cli
