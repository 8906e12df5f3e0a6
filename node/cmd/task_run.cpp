// SPDX-License-Identifier: MIT
// retrace task run: the same training on this machine, without a market.
#include "node/cmd/task_run.hpp"

#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cstdio>
#include <iostream>

#include "kernels/program/codec.hpp"
#include "node/cmd/outlier_report.hpp"
#include "node/cmd/renamed.hpp"
#include "node/cmd/task_options.hpp"
#include "node/tasks/data/dataset.hpp"
#include "node/tasks/initial_state.hpp"
#include "node/tasks/model_files.hpp"
#include "solver/run/device.hpp"
#include "solver/run/step_runner.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

Status<> check_fit(const kernels::Program& program, const DataSet& data) {
    for (std::size_t i = 0; i < program.datasets || i < data.parts.size(); ++i) {
        const std::size_t wanted = program.states + program.constants + i;
        if (i >= program.datasets || i >= data.parts.size() ||
            data.parts[i].tensor.dtype != program.tensors[wanted].dtype ||
            data.parts[i].tensor.dims != program.tensors[wanted].dims) {
            return error("the data set does not fit the program; compile the task anew");
        }
    }
    return Unit{};
}

/// Shows progress in a line that is overwritten on a terminal, and as plain lines elsewhere.
void show_step(const TaskFile& task, std::uint64_t step, float loss, Clock::time_point start) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const double rate = static_cast<double>(step + 1) / std::max(seconds, 1e-9);
    if (::isatty(STDOUT_FILENO) == 0) {
        std::cout << "step " << step << " loss " << loss << '\n';
        return;
    }
    std::printf("\rstep %llu of %llu, loss %.4f, %.1f steps/s, %.0f s left   ",
                static_cast<unsigned long long>(step + 1), static_cast<unsigned long long>(task.steps),
                static_cast<double>(loss), rate, static_cast<double>(task.steps - step - 1) / rate);
    if (step + 1 == task.steps) std::printf("\n");
    std::fflush(stdout);
}

MetricTable train(const Program& program, const TaskFile& task, solver::Training& training) {
    MetricTable table{{"loss"}, {}};
    const Clock::time_point start = Clock::now();
    while (training.step() < task.steps) {
        const std::uint64_t step = training.step();
        for (const kernels::Metric& metric : training.advance()) {
            if (metric.name != "loss") continue;
            table.rows.push_back({step, {metric.value}});
            if (!program.json) show_step(task, step, metric.value, start);
        }
    }
    return table;
}

int run_local(const Program& program, const TaskRunFlags& flags) {
    const auto task = load_task_file(flags.folder);
    if (!task) return fail(program, task.error().message);
    const auto step = read_program(task->program);
    if (!step) return fail(program, step.error().message);
    const auto data = load_dataset(task->data);
    if (!data) return fail(program, data.error().message);
    if (const auto fits = check_fit(*step, *data); !fits) return fail(program, fits.error().message);
    kernels::Inputs inputs;
    inputs.seed = task->seed;
    for (const DataSet::Part& part : data->parts) inputs.datasets.push_back(&part.tensor);
    if (task->group) return run_rounds(program, *task, *step, inputs, flags);
    if (flags.members != 0) return fail(program, "--members is for a task that was compiled with --rounds");
    kernels::ThreadPool pool(flags.threads);
    auto state = first_state(*task, *step, pool);
    if (!state) return fail(program, state.error().message);

    auto device = solver::open_device(*solver::parse_device(flags.device), *step);
    if (!device) return fail(program, device.error().message);
    solver::ProgramRunner runner = *device == nullptr ? solver::ProgramRunner(*step, inputs, pool)
                                                      : solver::ProgramRunner(*step, inputs, pool, std::move(*device));
    const kernels::CommittedProgram committed(*step);
    const std::unique_ptr<solver::Training> training = runner.train(committed, *state, pool);
    const MetricTable table = train(program, *task, *training);
    const Hash32 root = training->commit().root;
    training->state();  // makes `state` current for the evaluation and the model's file
    json::array losses;
    for (const MetricTable::Row& row : table.rows) losses.emplace_back(*row.values[0]);
    json::object out{{"losses", std::move(losses)}, {"state_root", to_hex(view(root))}};
    if (flags.evaluate) {
        const auto result = evaluate_task(*task, *state, pool);
        if (!result) return fail(program, result.error().message);
        out["test_loss"] = result->loss;
        if (result->counts_correct) out["accuracy"] = result->accuracy();
    }
    if (!flags.out.empty()) {
        if (const auto written = write_results(*task, *step, *state, table, flags.out); !written)
            return fail(program, written.error().message);
    }
    OutlierSampling outliers;  // Last, when the training is done and written.
    if (flags.outliers) {
        kernels::Executor here(*step, pool);
        outliers = sample_outliers(here, *step, *state, inputs);
        out["outliers"] = outliers.json;
        add_old_keys(out);
    }
    if (program.json) {
        std::cout << json::serialize(out) << '\n';
        return kDone;
    }
    std::cout << "state root " << to_hex(view(root)) << '\n';
    if (flags.evaluate) std::cout << "test loss " << out["test_loss"].as_double() << '\n';
    if (flags.outliers) std::cout << "precision    " << outliers.text << '\n';
    if (out.contains("accuracy")) std::cout << "accuracy " << 100 * out["accuracy"].as_double() << " %\n";
    return kDone;
}

}  // namespace

Status<> write_results(const TaskFile& task, const kernels::Program& train, const kernels::State& state,
                       const MetricTable& table, const std::string& folder) {
    RETRACE_CHECK(write_model(train, state, {{"format", "pt"}}, &task, folder));
    return store_csv(table, std::filesystem::path(folder) / "metrics.csv");
}

void add_task_run(CLI::App& parent, Program& program) {
    CLI::App* command = parent.add_subcommand("run", "Train a compiled task on this machine, without a market");
    auto flags = std::make_shared<TaskRunFlags>();
    command->add_option("FOLDER", flags->folder, "task.toml or its folder")->required();
    command->add_flag("--local", flags->local, "On this machine (the only way there is)");
    add_threads(*command, flags->threads);
    command->add_option("--members", flags->members, "Members of a training in rounds (as many as the task names)")
        ->check(CLI::Range(1, 256));
    command->add_option("--device", flags->device, "cpu, cuda, or auto: cuda where it is there (auto)")
        ->check(CLI::IsMember({"cpu", "cuda", "auto"}));
    command->add_flag("--evaluate", flags->evaluate, "Measure on the test data at the end");
    command->add_flag("--outliers", flags->outliers,
                      "Say at the end how many blocks of the products hold an outlier, where digits may not suffice");
    command->add_option("-o,--out", flags->out, "Folder for the model and metrics.csv");
    add_json(*command, program);
    command->callback([&program, flags] { program.run = [&program, flags] { return run_local(program, *flags); }; });
}

}  // namespace retrace::node::cli
