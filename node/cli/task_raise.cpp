// SPDX-License-Identifier: MIT
// retrace task raise
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>

#include "node/cli/task_options.hpp"
#include "node/units.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;

struct RaiseFlags {
    SignerOptions key;
    std::uint64_t task = 0;
    std::uint8_t replicas = 2;
};

int raise(const Program& program, const RaiseFlags& flags) {
    auto key = unlock(flags.key);
    if (!key) return fail(program, key.error().message);
    auto client = RpcClient::connect(flags.key.node_url);
    if (!client) return fail(program, client.error().message);
    const auto chain_id = client->chain_id();
    if (!chain_id) return fail(program, chain_id.error().message);
    Submitter submitter(*client, *key, *chain_id);
    const auto paid = raise_replicas(submitter, *client, flags.task, flags.replicas);
    if (!paid) return fail(program, paid.error().message);
    if (program.json) {
        std::cout << json::serialize(json::object{{"task", flags.task}, {"escrow", paid->to_decimal()}}) << '\n';
    } else {
        std::cout << "an auction for more replicas is open, " << format_coins(*paid) << " more in escrow\n";
    }
    return kDone;
}

}  // namespace

void add_task_raise(CLI::App& parent, Program& program) {
    CLI::App* command = parent.add_subcommand("raise", "Have a running task computed by more solvers");
    auto flags = std::make_shared<RaiseFlags>();
    command->add_option("ID", flags->task, "Task")->required();
    command->add_option("--replicas", flags->replicas, "Solvers in all (2)")
        ->check(CLI::Range(unsigned{2}, unsigned{market::kReplicasMax}));
    add_signer_options(*command, flags->key);
    add_json(*command, program);
    command->callback([&program, flags] { program.run = [&program, flags] { return raise(program, *flags); }; });
}

}  // namespace retrace::node::cli
