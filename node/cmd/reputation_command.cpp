// SPDX-License-Identifier: MIT
// retrace reputation show, prove, verify
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>
#include <memory>

#include "contracts/records/views.hpp"
#include "ledger/crypto/eip55.hpp"
#include "market/reputation.hpp"
#include "merkle/base/durable_file.hpp"
#include "node/agents/reputation_proof.hpp"
#include "node/cmd/cli.hpp"
#include "node/cmd/options.hpp"
#include "node/platform/json_values.hpp"
#include "node/platform/printable.hpp"
#include "node/platform/units.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;

struct ReputationFlags {
    ChainOptions chain;
    std::string address, file;
};

json::object json_of(const ProvenReputation& of) {
    const market::Reputation facts = of.record ? of.record->reputation : market::Reputation{};
    return {{"solver", ledger::to_checksum(of.solver)},
            {"registered", of.record.has_value()},
            {"height", of.height},
            {"settled_tasks", facts.settled},
            {"convictions", facts.faults},
            {"deadlines_missed", facts.silences},
            {"paid_segments", facts.segments},
            {"auction_weight_bp", market::reputation_weight(facts)},
            {"verified", of.standing.verified.to_decimal()},
            {"lost", of.standing.lost.to_decimal()}};
}

void print(const ProvenReputation& of) {
    std::cout << ledger::to_checksum(of.solver) << " at block " << of.height << ":\n";
    if (!of.record) {
        std::cout << "  it never registered as a solver\n";
        return;
    }
    const market::Reputation& facts = of.record->reputation;
    std::cout << "  " << facts.settled << " tasks settled, " << facts.segments << " segments paid, " << facts.faults
              << " convictions, " << facts.silences << " deadlines missed or states not served\n"
              << "  " << describe_coins(of.standing.verified)
              << " of fees were paid to auditors that got the same bits, and " << describe_coins(of.standing.lost)
              << " of stake lost; both halve in " << 4 * market::kDecayBlocks << " blocks\n"
              << "  its bids weigh " << market::reputation_weight(facts) << " (a newcomer's 10000; less is better)\n";
}

int show(const Program& program, const ReputationFlags& flags) {
    const auto solver = typed_address(flags.address);
    if (!solver) throw CLI::ValidationError(solver.error().message);
    const auto at = flags.chain.open();
    if (!at) return fail(program, at.error().message);
    const auto state = (*at)->chain.newest();
    if (!state) return fail(program, state.error().message);
    ProvenReputation out{*solver, {}, state->height(), 0, {}, {}};
    state->read([&] {
        out.record = contracts::views::solver(*state, *solver);
        out.standing = contracts::views::standing(*state, *solver);
    });
    if (state->failure()) return fail(program, state->failure()->message);
    if (out.standing.height > out.height) return fail(program, "the node shows a standing of a later block");
    out.standing = market::decayed(out.standing, out.height);
    if (program.json) {
        json::object object = json_of(out);
        (*at)->add_proven(object);
        std::cout << json::serialize(object) << '\n';
    } else {
        print(out);
        std::cout << (*at)->proven_line();
    }
    return kDone;
}

int prove(const Program& program, const ReputationFlags& flags) {
    const auto solver = typed_address(flags.address);
    if (!solver) throw CLI::ValidationError(solver.error().message);
    auto client = flags.chain.node.connect();
    if (!client) return fail(program, client.error().message);
    const auto trusted =
        flags.chain.trust.given() ? std::optional<light::TrustedBlock>(flags.chain.trust.block) : std::nullopt;
    const auto proof = prove_reputation(*client, trusted, *solver);
    if (!proof) return fail(program, proof.error().message);
    const Bytes bytes = encode(*proof);
    if (const auto written = write_durably(flags.file, {View(bytes)}, 0644); !written)
        return fail(program, flags.file + ": " + written.error().message);
    const std::uint64_t trusted_height = trusted ? trusted->height : proof->header.height;
    const std::string trusted_hash = trusted ? trusted->hash : to_hex(view(block_hash(proof->header)));
    if (program.json) {
        std::cout << json::serialize(json::object{{"file", flags.file},
                                                  {"bytes", bytes.size()},
                                                  {"height", proof->header.height},
                                                  {"trust_height", trusted_height},
                                                  {"trust_hash", trusted_hash}})
                  << '\n';
    } else {
        std::cout << "wrote " << flags.file << " (" << bytes.size() << " bytes), a proof at block "
                  << proof->header.height << "; check it with\n  retrace reputation verify " << flags.file
                  << " --trust-height " << trusted_height << " --trust-hash " << trusted_hash << '\n';
        if (!trusted)
            std::cout << "The reader has to trust that block of the ledger: a chain of several operators is proved "
                         "from a block of CometBFT by --trust-height and --trust-hash.\n";
    }
    return kDone;
}

int verify(const Program& program, const ReputationFlags& flags) {
    const auto bytes = read_file(flags.file, kReputationProofMax);
    if (!bytes) return fail(program, flags.file + ": " + bytes.error().message);
    const auto proof = decode_reputation_proof(*bytes);
    if (!proof) return fail(program, flags.file + ": " + proof.error().message);
    const auto checked = verify_reputation(*proof, flags.chain.trust.block);
    if (!checked) return fail(program, flags.file + ": " + checked.error().message);
    if (program.json) {
        json::object object = json_of(*checked);
        object["chain"] = checked->chain;
        object["timestamp"] = checked->time_s;
        object["valid"] = true;
        std::cout << json::serialize(object) << '\n';
    } else {
        print(*checked);
        std::cout << (checked->chain.empty() ? "proved under the trusted block"
                                             : "proved by the validators of " + printable(checked->chain))
                  << ", made " << utc_text(checked->time_s) << '\n';
    }
    return kDone;
}

CLI::App* add_to(CLI::App& parent, Program& program, const char* name, const char* what,
                 const std::shared_ptr<ReputationFlags>& flags, int (*run)(const Program&, const ReputationFlags&)) {
    CLI::App* command = parent.add_subcommand(name, what);
    add_json(*command, program);
    command->callback(
        [&program, flags, run] { program.run = [&program, flags, run] { return run(program, *flags); }; });
    return command;
}

}  // namespace

void add_reputation(CLI::App& app, Program& program) {
    CLI::App* reputation = app.add_subcommand("reputation", "Show the record of a solver, and prove it to others");
    reputation->require_subcommand(1);
    auto flags = std::make_shared<ReputationFlags>();
    CLI::App* command = add_to(*reputation, program, "show", "Show what a solver did and lost", flags, show);
    command->add_option("ADDRESS", flags->address, "Account of the solver")->required();
    flags->chain.add_to(*command);
    command = add_to(*reputation, program, "prove", "Write a file that proves it without a node", flags, prove);
    command->add_option("ADDRESS", flags->address, "Account of the solver")->required();
    command->add_option("FILE", flags->file, "File to write")->required();
    flags->chain.add_to(*command);
    command = add_to(*reputation, program, "verify", "Check such a file from a block that you trust", flags, verify);
    command->add_option("FILE", flags->file, "File that `reputation prove` wrote")->required();
    flags->chain.trust.add_to(*command);
    command->get_option("--trust-height")
        ->required()
        ->description(
            "Height of a block that you trust, of CometBFT or of a ledger without it: the file is proved from it");
    command->get_option("--trust-hash")->required();
}

}  // namespace retrace::node::cli
