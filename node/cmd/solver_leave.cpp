// SPDX-License-Identifier: MIT
// retrace solver leave
#include "node/cmd/solver_leave.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>

#include "node/agents/leave_group.hpp"
#include "node/cmd/options.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;

struct LeaveFlags {
    SignerOptions signer;
    std::uint64_t task = 0;
    bool at_once = false;
};

int leave(const Program& program, const LeaveFlags& flags) {
    const auto session = Session::open(flags.signer);
    if (!session) return fail(program, session.error().message);
    const auto on_wait = [](const Leaving& now) {
        std::cerr << "waits until round " << now.round << " has the message of run " << now.run
                  << ", at the latest until block " << now.deadline << " (--now leaves without it)" << std::endl;
    };
    const auto left = leave_group((*session)->submitter, (*session)->at->chain, flags.task, (*session)->key.address(),
                                  flags.at_once, on_wait);
    if (!left) return fail(program, left.error().message);
    const bool before = left->point == LeavePoint::leaves;
    if (program.json) {
        std::cout << json::serialize(json::object{{"task", flags.task},
                                                  {"run", left->run},
                                                  {"round", left->round},
                                                  {"left_before", before},
                                                  {"segments_not_final", left->unfinalised}})
                  << '\n';
        return kDone;
    }
    std::cout << "run " << left->run << " of task " << flags.task << (before ? " leaves already" : " leaves")
              << " in round " << left->round << ": it trains no more, and others do not wait for it\n";
    if (left->unfinalised != 0)
        std::cout << "keep the solver running: its stake answers for " << left->unfinalised
                  << " segments that are not final, and returns with the last of them\n";
    return kDone;
}

}  // namespace

void add_solver_leave(CLI::App& solver, Program& program) {
    CLI::App* command = solver.add_subcommand("leave", "Give up the seat in a training in rounds");
    command->footer("");  // Not the frauds of `solver`.
    auto flags = std::make_shared<LeaveFlags>();
    command->add_option("TASK", flags->task, "Task")->required();
    command->add_flag("--now", flags->at_once, "Do not wait until what the solver trains in this round is sent");
    flags->signer.add_to(*command);
    add_json(*command, program);
    command->callback([&program, flags] { program.run = [&program, flags] { return leave(program, *flags); }; });
}

}  // namespace retrace::node::cli
