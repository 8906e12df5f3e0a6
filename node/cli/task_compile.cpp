// SPDX-License-Identifier: MIT
// retrace task compile
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>

#include "node/cli/task_options.hpp"
#include "node/task/compile.hpp"
#include "node/units.hpp"

namespace retrace::node::cli {
namespace {

struct Flags {
    CompileRequest request;
    std::string data = "fashion-mnist", optimizer = "adamw", precision = "i8x2", price_ceiling = "1";
    double audit_percent = 5;
};

Status<> settle(Flags& flags) {
    using kernels::Optimizer;
    using kernels::Precision;
    TaskFile& task = flags.request.task;
    const auto ceiling = parse_coins(flags.price_ceiling);
    if (!ceiling || ceiling->is_zero())
        return error("--price-ceiling must be coins for each segment, like 0.5");
    task.price_ceiling = *ceiling;
    task.audit_bp = static_cast<std::uint16_t>(flags.audit_percent * 100 + 0.5);
    flags.request.training.optimizer = flags.optimizer == "sgd" ? Optimizer::sgd : Optimizer::adamw;
    flags.request.training.precision = flags.precision == "f32"    ? Precision::f32
                                       : flags.precision == "i8x3" ? Precision::i8x3
                                                                   : Precision::i8x2;
    if (task.name.empty()) task.name = flags.request.model.kind + " on " + flags.data;
    if (task.name.size() > 64) task.name.resize(64);
    return Unit{};
}

int compile(const Program& program, Flags& flags) {
    if (const auto settled = settle(flags); !settled) {
        fail(program, settled.error().message);
        return kWrongUsage;
    }
    const bool flat = flags.request.model.kind == "mlp";
    const auto train = open_data(flags.data, Split::train, flat);
    if (!train) return fail(program, train.error().message);
    const auto test = open_data(flags.data, Split::test, flat);
    const auto task = compile_task(flags.request, *train, test ? &*test : nullptr);
    if (!task) return fail(program, task.error().message);
    const std::uint64_t segments = (task->steps + task->interval - 1) / task->interval;
    if (program.json) {
        std::cout << boost::json::serialize(boost::json::object{{"folder", flags.request.out.string()},
                                                                {"model", flags.request.model.kind},
                                                                {"samples", train->samples()},
                                                                {"steps", task->steps},
                                                                {"segments", segments}})
                  << '\n';
    } else {
        std::cout << "compiled " << flags.request.model.kind << " for " << train->samples()
                  << " samples: " << task->steps << " steps in " << segments << " segments\n"
                  << "next: retrace task submit " << (flags.request.out / "task.toml").string()
                  << " --key FILE\n";
    }
    return kDone;
}

}  // namespace

void add_task_compile(CLI::App& parent, Program& program) {
    CLI::App* command = parent.add_subcommand("compile", "Turn a model and a data set into a task folder");
    auto flags = std::make_shared<Flags>();
    CompileRequest& request = flags->request;
    request.task.steps = 1000;
    request.task.interval = 100;
    command->add_option("MODEL", request.model.kind, "A built-in model: mlp, lenet")->required();
    command->add_option("-o,--out", request.out, "Folder to write")->required();
    command->add_option("--data", flags->data,
                        "fashion-mnist, a folder of IDX files, or of `retrace data import`");
    command->add_option("--name", request.task.name, "Name of the task");
    command->add_option("--hidden", request.model.hidden, "mlp: widths of the hidden layers (128)");
    command->add_option("--optimizer", flags->optimizer, "adamw or sgd")
        ->check(CLI::IsMember({"adamw", "sgd"}));
    command->add_option("--lr", request.training.learning_rate, "Learning rate (0.001)");
    command->add_option("--schedule", request.training.schedule, "constant or cosine")
        ->check(CLI::IsMember({"constant", "cosine"}));
    command->add_option("--warmup", request.training.warmup_steps, "Steps of linear warm-up");
    command->add_option("--batch", request.training.batch, "Samples of a step (128)");
    command->add_option("--momentum", request.training.momentum, "sgd: momentum (0.9)");
    command->add_option("--weight-decay", request.training.weight_decay, "Weight decay (0)");
    command->add_option("--clip", request.training.clip_norm, "Clip gradients to this norm (0: do not)");
    command->add_option("--precision", flags->precision, "i8x2, i8x3 or f32")
        ->check(CLI::IsMember({"i8x2", "i8x3", "f32"}));
    command->add_option("--steps", request.task.steps, "Training steps (1000)");
    command->add_option("--checkpoint-every", request.task.interval, "Steps between checkpoints (100)");
    command->add_option("--seed", request.task.seed, "Seed of initial values and data order (0)");
    command->add_option("--price-ceiling", flags->price_ceiling, "Most coins to pay for a segment (1)");
    command->add_option("--audit-percent", flags->audit_percent, "Probability that a segment is audited (5)")
        ->check(CLI::Range(0.0, 100.0));
    command->add_option("--auditors", request.task.auditors, "Auditors of an audited segment (2)");
    command->add_option("--replicas", request.task.replicas, "Solvers that train independently (1)");
    add_json(*command, program);
    command->callback(
        [&program, flags] { program.run = [&program, flags] { return compile(program, *flags); }; });
}

}  // namespace retrace::node::cli
