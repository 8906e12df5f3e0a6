// SPDX-License-Identifier: MIT
// retrace task decide
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>

#include "node/cmd/task_options.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;

struct DecideFlags {
    SignerOptions signer;
    std::uint64_t task = 0;
    bool pay = false, end = false;
};

int decide(const Program& program, const DecideFlags& flags) {
    const auto session = Session::open(flags.signer);
    if (!session) return fail(program, session.error().message);
    const auto status = task_status((*session)->at->chain, flags.task);
    if (!status) return fail(program, status.error().message);
    if (!status->waiting)
        return fail(program, "no segment of task " + std::to_string(flags.task) + " waits for auditors");
    const contracts::DecideUnaudited call{flags.task, status->waiting->run, flags.pay};
    const auto outcome = (*session)->submitter.execute("decide", call);
    if (!outcome) return fail(program, outcome.error().message);
    if (program.json) {
        std::cout << json::serialize(json::object{{"task", flags.task},
                                                  {"run", call.run},
                                                  {"segment", status->waiting->segment},
                                                  {"pay", flags.pay},
                                                  {"height", outcome->height}})
                  << '\n';
    } else {
        std::cout << (flags.pay ? "the waiting segments are paid unaudited; run "
                                : "the waiting segments are not paid; run ")
                  << call.run << (flags.pay ? " goes on\n" : " ends\n");
    }
    return kDone;
}

}  // namespace

void add_task_decide(CLI::App& parent, Program& program) {
    CLI::App* command =
        parent.add_subcommand("decide", "Pay for segments that no auditor can be drawn for, or end the run");
    auto flags = std::make_shared<DecideFlags>();
    command->add_option("ID", flags->task, "Task")->required();
    CLI::App* how = command->add_option_group("decision");
    how->add_flag("--pay", flags->pay, "Pay for them unaudited; the run goes on");
    how->add_flag("--end", flags->end, "Do not pay for them: the run ends and is paid for its finalised segments");
    how->require_option(1);
    flags->signer.add_to(*command);
    add_json(*command, program);
    command->callback([&program, flags] { program.run = [&program, flags] { return decide(program, *flags); }; });
}

}  // namespace retrace::node::cli
