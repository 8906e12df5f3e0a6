// SPDX-License-Identifier: MIT
// retrace validator list, show, register, bond, unbond, release, unjail, vote-upgrade
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>

#include "contracts/calls/validator_message.hpp"
#include "contracts/records/validator_views.hpp"
#include "ledger/crypto/eip55.hpp"
#include "node/agents/remote_state.hpp"
#include "node/cmd/cli.hpp"
#include "node/cmd/options.hpp"
#include "node/platform/units.hpp"
#include "node/server/comet/consensus_key.hpp"
#include "node/server/comet/vrf_key.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;
namespace fs = std::filesystem;

struct ValidatorFlags {
    SignerOptions signer;
    std::string amount, address, data_dir;
    std::uint64_t version = 0, height = 0;
};

std::uint64_t power_in_set(const ledger::StateView& state, const ledger::Address& account) {
    for (const contracts::SetMember& member : contracts::views::validator_set(state))
        if (member.account == account) return member.power;
    return 0;
}

int print_validator(const Program& program, ChainSession& at, const ledger::Address& account) {
    const auto newest = at.chain.newest();
    if (!newest) return fail(program, newest.error().message);
    const RemoteState& state = *newest;
    const auto info = contracts::views::validator(state, account);
    const auto rules = contracts::views::validator_rules(state);
    const std::uint64_t power = power_in_set(state, account);
    if (state.failure()) return fail(program, state.failure()->message);
    if (!info || !rules) return fail(program, ledger::to_checksum(account) + " has registered no validator's keys");
    const std::uint64_t next = market::power_of(*info, *rules);
    if (program.json) {
        json::object out{{"account", ledger::to_checksum(account)},
                         {"key", to_0x(view(info->key))},
                         {"vrf_key", to_0x(info->vrf_key)},
                         {"stake", info->stake.to_decimal()},
                         {"leaving", info->leaving.to_decimal()},
                         {"leaving_height", info->leaving_height},
                         {"granted", info->granted},
                         {"power", power},
                         {"next_power", next},
                         {"jailed_until", info->jailed_until},
                         {"double_signed", info->double_signed},
                         {"missed", info->missed}};
        at.add_proven(out);
        std::cout << json::serialize(out) << '\n';
        return kDone;
    }
    std::cout << "key " << to_hex(view(info->key)) << '\n' << "power in the set " << power;
    if (next != power) std::cout << ", " << next << " for the next election";
    std::cout << "\nstake " << describe_coins(info->stake) << '\n';
    if (!info->leaving.is_zero()) {
        std::cout << "leaving " << describe_coins(info->leaving) << ", `retrace validator release` from block "
                  << info->leaving_height << '\n';
    }
    if (info->double_signed) std::cout << "it signed two blocks of one height and is out for ever\n";
    if (info->jailed_until != 0) {
        std::cout << "in jail, because it missed votes: `retrace validator unjail` from block " << info->jailed_until
                  << '\n';
    }
    std::cout << at.proven_line();
    return kDone;
}

int print_set(const Program& program, ChainSession& at) {
    const auto newest = at.chain.newest();
    if (!newest) return fail(program, newest.error().message);
    const RemoteState& state = *newest;
    const auto set = contracts::views::validator_set(state);
    const contracts::Upgrade upgrade = contracts::views::upgrade(state);
    if (state.failure()) return fail(program, state.failure()->message);
    if (program.json) {
        json::array members;
        for (const contracts::SetMember& member : set) {
            members.push_back(json::object{{"account", ledger::to_checksum(member.account)},
                                           {"key", to_0x(view(member.key))},
                                           {"power", member.power}});
        }
        json::object out{{"height", state.height()},
                         {"validators", std::move(members)},
                         {"rules_version", upgrade.current},
                         {"next_version", upgrade.version},
                         {"next_version_height", upgrade.height}};
        at.add_proven(out);
        std::cout << json::serialize(out) << '\n';
        return kDone;
    }
    if (set.empty()) std::cout << "this chain has no validators: one node decides its blocks\n";
    for (const contracts::SetMember& member : set) {
        std::cout << ledger::to_checksum(member.account) << "  power " << member.power << "  key "
                  << to_hex(view(member.key)) << '\n';
    }
    std::cout << "rules version " << upgrade.current;
    if (upgrade.version != 0) std::cout << ", version " << upgrade.version << " from block " << upgrade.height;
    std::cout << '\n';
    for (const contracts::UpgradeVote& vote : upgrade.votes) {
        std::cout << ledger::to_checksum(vote.account) << " votes for version " << vote.version << " from block "
                  << vote.height << '\n';
    }
    std::cout << at.proven_line();
    return kDone;
}

int list(const Program& program, const ValidatorFlags& flags) {
    const auto at = flags.signer.chain.open();
    if (!at) return fail(program, at.error().message);
    return print_set(program, **at);
}

int show(const Program& program, const ValidatorFlags& flags) {
    const auto account = typed_address(flags.address);
    if (!account) {
        fail(program, account.error().message);
        return kWrongUsage;
    }
    const auto at = flags.signer.chain.open();
    if (!at) return fail(program, at.error().message);
    return print_validator(program, **at, *account);
}

/// The registration of the keys of a node's data directory.
Result<contracts::RegisterValidator> registration(const std::string& data_dir, const ledger::Address& account) {
    const fs::path config = fs::path(data_dir) / "comet" / "config";
    const fs::path key_path = config / "priv_validator_key.json", vrf_path = config / "vrf_key";
    if (!fs::exists(key_path) || !fs::exists(vrf_path)) {
        return error(config.string() +
                     " has no validator's keys: --data-dir is that of a node with --engine comet, which makes them "
                     "when it starts first");
    }
    const Bytes message = contracts::validator_key_message(account);
    RETRACE_TRY(signed_message, engine::sign_with_validator_key(key_path, message));
    RETRACE_TRY(vrf, engine::make_vrf_key(vrf_path));
    return contracts::RegisterValidator{signed_message.key, to_bytes(signed_message.signature),
                                        to_bytes(vrf.key().bytes), to_bytes(vrf.prove(message))};
}

int register_keys(const Program& program, const ValidatorFlags& flags) {
    const auto session = Session::open(flags.signer);
    if (!session) return fail(program, session.error().message);
    Submitter& submitter = (*session)->submitter;
    const auto call = registration(flags.data_dir, submitter.address());
    if (!call) return fail(program, call.error().message);
    const auto done = submitter.execute("registerValidator", *call);
    if (!done) return fail(program, done.error().message);
    return print_validator(program, *(*session)->at, submitter.address());
}

enum class ValidatorVerb : std::uint8_t { bond, unbond, release, unjail };

int change(const Program& program, const ValidatorFlags& flags, ValidatorVerb verb) {
    const auto amount = flags.amount.empty() ? std::optional(ledger::U256{}) : parse_coins(flags.amount);
    if (!amount) {
        fail(program, "AMOUNT must be coins, like 10 or 0.5");
        return kWrongUsage;
    }
    const auto session = Session::open(flags.signer);
    if (!session) return fail(program, session.error().message);
    Submitter& submitter = (*session)->submitter;
    const auto done = [&] {
        switch (verb) {
            case ValidatorVerb::bond: return submitter.execute("bondValidator", contracts::BondValidator{*amount});
            case ValidatorVerb::unbond:
                return submitter.execute("unbondValidator", contracts::UnbondValidator{*amount});
            case ValidatorVerb::release: return submitter.execute("releaseValidator", contracts::ReleaseValidator{});
            case ValidatorVerb::unjail: break;
        }
        return submitter.execute("unjailValidator", contracts::UnjailValidator{});
    }();
    if (!done) return fail(program, done.error().message);
    return print_validator(program, *(*session)->at, submitter.address());
}

int vote(const Program& program, const ValidatorFlags& flags) {
    const auto session = Session::open(flags.signer);
    if (!session) return fail(program, session.error().message);
    const auto done = (*session)->submitter.execute("voteUpgrade", contracts::VoteUpgrade{flags.version, flags.height});
    if (!done) return fail(program, done.error().message);
    return print_set(program, *(*session)->at);
}

void add_validator_change(CLI::App& parent, Program& program, const char* name, const char* what, ValidatorVerb verb) {
    CLI::App* command = parent.add_subcommand(name, what);
    auto flags = std::make_shared<ValidatorFlags>();
    if (verb == ValidatorVerb::bond || verb == ValidatorVerb::unbond)
        command->add_option("AMOUNT", flags->amount, "Coins")->required();
    flags->signer.add_to(*command);
    add_json(*command, program);
    command->callback(
        [&program, flags, verb] { program.run = [&program, flags, verb] { return change(program, *flags, verb); }; });
}

}  // namespace

void add_validator(CLI::App& app, Program& program) {
    CLI::App* validator = app.add_subcommand("validator", "Join the validators of a chain, and see who they are");
    validator->require_subcommand(1);

    CLI::App* listing = validator->add_subcommand("list", "The validators that decide the blocks");
    auto list_flags = std::make_shared<ValidatorFlags>();
    list_flags->signer.chain.add_to(*listing);
    add_json(*listing, program);
    listing->callback(
        [&program, list_flags] { program.run = [&program, list_flags] { return list(program, *list_flags); }; });

    CLI::App* one = validator->add_subcommand("show", "Keys, stake and power of an account's validator");
    auto show_flags = std::make_shared<ValidatorFlags>();
    one->add_option("ADDRESS", show_flags->address, "The account")->required();
    show_flags->signer.chain.add_to(*one);
    add_json(*one, program);
    one->callback(
        [&program, show_flags] { program.run = [&program, show_flags] { return show(program, *show_flags); }; });

    CLI::App* keys = validator->add_subcommand("register", "Name the keys of a node as those of your validator");
    auto key_flags = std::make_shared<ValidatorFlags>();
    keys->add_option("--data-dir", key_flags->data_dir, "Data directory of the node that is to vote")->required();
    key_flags->signer.add_to(*keys);
    add_json(*keys, program);
    keys->callback(
        [&program, key_flags] { program.run = [&program, key_flags] { return register_keys(program, *key_flags); }; });

    add_validator_change(*validator, program, "bond", "Lock free stake for the validator: power from the next epoch on",
                         ValidatorVerb::bond);
    add_validator_change(*validator, program, "unbond", "Take stake out of its power, to release it later",
                         ValidatorVerb::unbond);
    add_validator_change(*validator, program, "release", "Unlock the stake that has finished unbonding",
                         ValidatorVerb::release);
    add_validator_change(*validator, program, "unjail", "Come back after missed votes", ValidatorVerb::unjail);

    CLI::App* upgrade = validator->add_subcommand("vote-upgrade", "Vote for the next version of the chain's rules");
    auto vote_flags = std::make_shared<ValidatorFlags>();
    upgrade->add_option("VERSION", vote_flags->version, "Version of the rules; 0 withdraws the vote")->required();
    upgrade->add_option("HEIGHT", vote_flags->height, "First block that is executed by it");
    vote_flags->signer.add_to(*upgrade);
    add_json(*upgrade, program);
    upgrade->callback(
        [&program, vote_flags] { program.run = [&program, vote_flags] { return vote(program, *vote_flags); }; });
}

}  // namespace retrace::node::cli
