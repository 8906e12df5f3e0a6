// SPDX-License-Identifier: MIT
// retrace dp
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>

#include "node/cmd/cli.hpp"
#include "node/tasks/privacy.hpp"

namespace retrace::node::cli {
namespace {

struct DpFlags {
    PrivacySpec spec;
    double epsilon = 0;
};

int run(const Program& program, DpFlags flags) {
    if (flags.epsilon != 0) {
        const auto noise = noise_for(flags.spec, flags.epsilon);
        if (!noise) return fail(program, noise.error().message);
        flags.spec.noise = *noise;
    }
    const auto result = epsilon(flags.spec);
    if (!result) return fail(program, result.error().message);
    if (program.json) {
        std::cout << boost::json::serialize(boost::json::object{{"epsilon", *result},
                                                                {"delta", flags.spec.delta},
                                                                {"noise", flags.spec.noise},
                                                                {"epochs", flags.spec.uses}})
                  << '\n';
        return kDone;
    }
    std::cout << "epsilon " << *result << " at delta " << flags.spec.delta << ", noise " << flags.spec.noise << ", "
              << flags.spec.uses << " epochs\n"
              << "of one example, each used once an epoch; the order of the data is public, so none is gained by it\n";
    return kDone;
}

}  // namespace

void add_dp(CLI::App& app, Program& program) {
    CLI::App* command = app.add_subcommand("dp", "What differential privacy a training with noise gives");
    add_json(*command, program);
    const auto flags = std::make_shared<DpFlags>();
    CLI::Option_group* either = command->add_option_group("either");
    either->add_option("--noise", flags->spec.noise, "Deviation of the noise, over the clip norm of an example")
        ->check(CLI::PositiveNumber);
    either->add_option("--epsilon", flags->epsilon, "Print the least noise for this in place of a given noise")
        ->check(CLI::PositiveNumber);
    either->require_option(1);
    command->add_option("--epochs", flags->spec.uses, "Times that an example is used")->required();
    command->add_option("--delta", flags->spec.delta, "Chance that the bound does not hold (1e-5)");
    command->callback([&program, flags] { program.run = [&program, flags] { return run(program, *flags); }; });
}

}  // namespace retrace::node::cli
