// SPDX-License-Identifier: MIT
// retrace doctor
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>

#include "node/cmd/cli.hpp"
#include "node/cmd/doctor/probe.hpp"
#include "node/cmd/options.hpp"

namespace retrace::node::cli {
namespace {

struct DoctorFlags {
    NodeOptions node;
    doctor::Question question;
    std::string data_dir = ".", device = "auto";
    std::uint64_t memory_mib = 0;
};

int run_doctor(const Program& program, DoctorFlags& flags) {
    doctor::Question& question = flags.question;
    question.node_url = flags.node.url;
    question.data_dir = flags.data_dir;
    question.memory = flags.memory_mib << 20;
    question.wants_gpu = flags.device == "cuda";
    const std::vector<doctor::Check> checks = doctor::examine(question);
    const doctor::Grade grade = doctor::grade_of(checks);
    if (program.json) {
        std::cout << boost::json::serialize(doctor::json_of(checks)) << '\n';
    } else {
        for (const doctor::Check& check : checks) std::cout << doctor::text_of(check);
        std::cout << (grade == doctor::Grade::fail       ? "not ready: mend what failed, and repeat"
                      : grade == doctor::Grade::warn     ? "ready, with warnings"
                      : grade == doctor::Grade::untested ? "ready, as far as it was tested"
                                                         : "ready")
                  << '\n';
    }
    return grade == doctor::Grade::fail ? kFailed : kDone;
}

}  // namespace

void add_doctor(CLI::App& app, Program& program) {
    CLI::App* command =
        app.add_subcommand("doctor", "Test whether this machine can earn as a solver or verifier; changes nothing");
    auto flags = std::make_shared<DoctorFlags>();
    flags->node.add_to(*command, "5, always");
    command->add_option("--data-dir", flags->data_dir, "Folder that the agent will use (the current one)");
    command->add_option("--listen", flags->question.listen, "Address that it will listen on (127.0.0.1)");
    command->add_option("--port", flags->question.port, "Port that it will listen on; 0: any free one");
    command->add_option("--endpoint", flags->question.endpoint, "URL under which others will reach that port");
    add_threads(*command, flags->question.threads);
    command->add_option("--memory", flags->memory_mib, "Memory for tasks, in MiB; 0: three quarters of the machine's")
        ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 40));
    command->add_option("--device", flags->device, "Device to train on: cpu, cuda or auto (auto)")
        ->check(CLI::IsMember({"cpu", "cuda", "auto"}));
    add_json(*command, program);
    command->footer(
        "Each check says what was found, what is required, why, and the remedy. Exit code 1: a check failed.");
    command->callback([&program, flags] { program.run = [&program, flags] { return run_doctor(program, *flags); }; });
}

}  // namespace retrace::node::cli
