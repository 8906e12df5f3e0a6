// SPDX-License-Identifier: MIT
// retrace task run: the same training on this machine, without a market.
#include "node/cmd/task_run.hpp"

#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <atomic>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "kernels/commit/commitment.hpp"
#include "kernels/program/codec.hpp"
#include "node/cmd/outlier_report.hpp"
#include "node/cmd/renamed.hpp"
#include "node/cmd/task_options.hpp"
#include "node/tasks/data/dataset.hpp"
#include "node/tasks/initial_state.hpp"
#include "node/tasks/model_files.hpp"
#include "node/tasks/run_progress.hpp"
#include "solver/run/device.hpp"
#include "solver/run/step_runner.hpp"

namespace retrace::node::cli {
namespace {

namespace fs = std::filesystem;
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

using Losses = std::vector<std::pair<std::uint64_t, float>>;  // with their steps

constexpr std::chrono::seconds kSaveEvery{60};

std::atomic<bool> g_interrupted{false};  // Signal handlers can access globals only.
extern "C" void on_interrupt(int) {
    if (g_interrupted.exchange(true)) ::_exit(kFailed);
}

/// Shows progress in a line that is overwritten, on a terminal only.
void show_step(const TaskFile& task, std::uint64_t step, float loss, Clock::time_point start) {
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const double rate = static_cast<double>(step + 1) / std::max(seconds, 1e-9);
    std::fprintf(stderr, "\rstep %llu of %llu, loss %.4f, %.1f steps/s, %.0f s left   ",
                 static_cast<unsigned long long>(step + 1), static_cast<unsigned long long>(task.steps),
                 static_cast<double>(loss), rate, static_cast<double>(task.steps - step - 1) / rate);
    if (step + 1 == task.steps) std::fprintf(stderr, "\n");
    std::fflush(stderr);
}

/// Where an interrupted training is kept, and which one it is.
struct Resume {
    fs::path file;
    Hash32 identity;
};

Status<> save(const Resume& resume, solver::Training& training, const Losses& losses) {
    std::error_code ignored;  // If there is no folder, the file cannot be written.
    fs::create_directories(resume.file.parent_path(), ignored);
    return save_progress(resume.file, resume.identity, {training.state(), losses});
}

/// Saves a training whose result could not be measured or written, and adds to the error what is left of it.
std::string saved_after(const Error& failure, const Resume& resume, solver::Training& training, const Losses& losses) {
    const auto saved = save(resume, training, losses);
    return failure.message +
           (saved ? "; the training is saved in " + resume.file.string() + ", from which the same command goes on"
                  : "; the training could not be saved either: " + saved.error().message);
}

/// Trains to the end, or until a signal comes: then the state is saved and `training` is not at its last step. It is
/// saved every minute too, for the power cut.
Status<> train(const TaskFile& task, solver::Training& training, const Resume& resume, Losses& losses) {
    const bool terminal = ::isatty(STDERR_FILENO) != 0;
    const Clock::time_point start = Clock::now();
    Clock::time_point saved = start;
    while (training.step() < task.steps) {
        const std::uint64_t step = training.step();
        for (const kernels::Metric& metric : training.advance()) {
            if (metric.name != "loss") continue;
            losses.emplace_back(step, metric.value);
            if (terminal) show_step(task, step, metric.value, start);
        }
        if (g_interrupted) return save(resume, training, losses);
        if (Clock::now() < saved + kSaveEvery) continue;
        RETRACE_CHECK(save(resume, training, losses));
        saved = Clock::now();
    }
    return Unit{};
}

MetricTable table_of(const Losses& losses) {
    MetricTable table{{"loss"}, {}};
    for (const auto& [step, loss] : losses) table.rows.push_back({step, {loss}});
    return table;
}

/// Goes on with an interrupted run of the same training: replaces the first state and the losses.
Status<> go_on(const Resume& resume, std::uint64_t steps, kernels::State& state, Losses& losses) {
    RETRACE_TRY(progress, load_progress(resume.file, resume.identity, state, steps));
    if (!progress) return Unit{};
    std::cerr << "going on at step " << progress->state.step << " from " << resume.file.string()
              << " (delete it to begin again)\n";
    state = std::move(progress->state);
    losses = std::move(progress->losses);
    return Unit{};
}

/// `FOLDER` is task.toml or its folder.
fs::path folder_of(const TaskRunFlags& flags) {
    if (!flags.out.empty()) return flags.out;
    std::error_code ignored;
    return fs::is_directory(flags.folder, ignored) ? fs::path(flags.folder) : fs::path(flags.folder).parent_path();
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
    const Resume resume{
        folder_of(flags) / "unfinished.run",
        training_identity(kernels::commit_state(committed.root(), *state, pool).root, *data, task->seed)};
    Losses steps;
    if (const auto resumed = go_on(resume, task->steps, *state, steps); !resumed)
        return fail(program, resumed.error().message);
    std::signal(SIGINT, on_interrupt);
    std::signal(SIGTERM, on_interrupt);
    const std::unique_ptr<solver::Training> training = runner.train(committed, *state, pool);
    if (const auto trained = train(*task, *training, resume, steps); !trained)
        return fail(program, trained.error().message);
    if (training->step() < task->steps)
        return fail(program, "interrupted at step " + std::to_string(training->step()) + " of " +
                                 std::to_string(task->steps) + ", which is saved in " + resume.file.string() +
                                 "; the same command goes on there");
    const MetricTable table = table_of(steps);
    const Hash32 root = training->commit().root;
    training->state();  // makes `state` current for the evaluation and the model's file
    json::array losses;
    for (const MetricTable::Row& row : table.rows) losses.emplace_back(*row.values[0]);
    json::object out{{"losses", std::move(losses)}, {"state_root", to_0x(view(root))}};
    if (flags.evaluate) {
        const auto result = evaluate_task(*task, *state, pool);
        if (!result) return fail(program, saved_after(result.error(), resume, *training, steps));
        out["test_loss"] = result->loss;
        if (result->counts_correct) out["accuracy"] = result->accuracy();
    }
    if (!flags.out.empty()) {
        if (const auto written = write_results(*task, *step, *state, table, flags.out); !written)
            return fail(program, saved_after(written.error(), resume, *training, steps));
    }
    std::error_code ignored;
    fs::remove(resume.file, ignored);  // Not before the results are on disk.
    OutlierSampling outliers;          // Last, when the training is done and written.
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
    std::cout << "state root " << to_0x(view(root)) << '\n';
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
