// SPDX-License-Identifier: MIT
// retrace task raise
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>

#include "node/cmd/task_options.hpp"
#include "node/platform/units.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;

struct RaiseFlags {
    SignerOptions signer;
    std::uint64_t task = 0;
    std::uint8_t replicas = 2;
};

int raise(const Program& program, const RaiseFlags& flags) {
    const auto session = Session::open(flags.signer);
    if (!session) return fail(program, session.error().message);
    const auto paid = raise_replicas((*session)->submitter, (*session)->at->chain, flags.task, flags.replicas);
    if (!paid) return fail(program, paid.error().message);
    if (program.json) {
        std::cout << json::serialize(json::object{{"task", flags.task}, {"escrow", paid->to_decimal()}}) << '\n';
    } else {
        std::cout << "an auction for more replicas is open, " << describe_coins(*paid) << " more in escrow\n";
    }
    return kDone;
}

}  // namespace

void add_task_raise(CLI::App& parent, Program& program) {
    CLI::App* command = parent.add_subcommand("raise", "Add solvers to a running task");
    auto flags = std::make_shared<RaiseFlags>();
    command->add_option("ID", flags->task, "Task")->required();
    command->add_option("--replicas", flags->replicas, "Solvers in all (2)")
        ->check(CLI::Range(unsigned{2}, unsigned{market::kReplicasMax}));
    flags->signer.add_to(*command);
    add_json(*command, program);
    command->callback([&program, flags] { program.run = [&program, flags] { return raise(program, *flags); }; });
}

}  // namespace retrace::node::cli
