// SPDX-License-Identifier: MIT
// retrace task run: the same training on this machine, without a market.
#include "node/cmd/task_run.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <iostream>

#include "kernels/commit/commitment.hpp"
#include "kernels/plan/regions.hpp"
#include "kernels/program/codec.hpp"
#include "node/cmd/local_steps.hpp"
#include "node/cmd/outlier_report.hpp"
#include "node/cmd/renamed.hpp"
#include "node/cmd/task_options.hpp"
#include "node/platform/machine_memory.hpp"
#include "node/tasks/data/dataset.hpp"
#include "node/tasks/initial_state.hpp"
#include "node/tasks/model_files.hpp"
#include "node/tasks/run_progress.hpp"
#include "solver/run/device.hpp"
#include "solver/run/offloaded_device.hpp"
#include "solver/run/step_runner.hpp"

namespace retrace::node::cli {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* kOffloadedDevice = "cuda-offload";

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

/// Goes on with an interrupted run of the same training: replaces the first state and the losses.
Status<> go_on(const Resume& resume, std::uint64_t steps, kernels::State& state, Losses& losses) {
    RETRACE_TRY(progress, load_progress(resume.file, resume.identity, state, steps));
    if (!progress) return Unit{};
    note_resumed(progress->state.step, resume.file);
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
    if (flags.memory_mib != 0 && flags.offload.empty() && flags.device != kOffloadedDevice)
        return fail(program, "--memory is for --offload and for --device cuda-offload");
    if (task->group && !flags.offload.empty()) return fail(program, "trainings in rounds have no --offload yet");
    if (task->group) return run_rounds(program, *task, *step, inputs, flags);
    if (flags.members != 0 || flags.regions != 0 || !flags.member_data.empty())
        return fail(program, "--members, --regions and --member-data are for a task that was compiled with --rounds");
    if (!flags.offload.empty())
        return run_offloaded(program, *task, *step, *data, flags, folder_of(flags) / "unfinished.run");
    kernels::ThreadPool pool(flags.threads);
    auto state = first_state(*task, *step, pool);
    if (!state) return fail(program, state.error().message);

    auto device = flags.device == kOffloadedDevice
                      ? solver::open_offloaded_device(*step, flags.memory_mib << 20, memory_left())
                      : solver::open_device(*solver::parse_device(flags.device), *step);
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
    const std::unique_ptr<solver::Training> training = runner.train(committed, *state, pool);
    // A step in memory overwrites the state, so it is not stopped.
    const LocalSteps local{[&] { return training->step(); },
                           [&](const kernels::StopToken&) { return std::optional(training->advance()); },
                           [&](const Losses& losses) { return save(resume, *training, losses); }, resume.file};
    if (const auto trained = run_steps(*task, local, steps); !trained) return fail(program, trained.error().message);
    const MetricTable table = table_of(steps);
    const Hash32 root = training->commit().root;
    training->state();  // makes `state` current for the evaluation and the model's file
    json::array losses;
    for (const MetricTable::Row& row : table.rows) losses.emplace_back(*row.values[0]);
    json::object out{{"losses", std::move(losses)}, {"state_root", to_0x(view(root))}};
    if (flags.evaluate) {
        const auto result = evaluate_task(*task, *state, pool);
        if (!result) return fail(program, saved_after(result.error(), save(resume, *training, steps), resume.file));
        out["test_loss"] = result->loss;
        if (result->counts_correct) out["accuracy"] = result->accuracy();
    }
    if (!flags.out.empty()) {
        if (const auto written = write_results(*task, *step, *state, table, flags.out); !written)
            return fail(program, saved_after(written.error(), save(resume, *training, steps), resume.file));
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
    command->add_option("--member-data", flags->member_data,
                        "Folders of data sets of the members of a training in rounds, by run; others have the task's");
    command->add_option("--members", flags->members, "Members of a training in rounds (as many as the task names)")
        ->check(CLI::Range(1, 256));
    command->add_option("--regions", flags->regions, "Regions of its members (as many as the task names)")
        ->check(CLI::Range(std::uint32_t{1}, kernels::kRegionsMax));
    command
        ->add_option("--device", flags->device,
                     "cpu, cuda, auto: cuda where it is there, or cuda-offload: what does not fit the device's memory "
                     "lies in this machine's (auto)")
        ->check(CLI::IsMember({"cpu", "cuda", "auto", kOffloadedDevice}));
    command->add_flag("--evaluate", flags->evaluate, "Measure on the test data at the end");
    command->add_flag("--outliers", flags->outliers,
                      "Say at the end how many blocks of the products hold an outlier, where digits may not suffice");
    command->add_option(
        "--offload", flags->offload,
        "Folder on a local disk for what does not fit --memory: state and activations, until the program "
        "ends");
    command
        ->add_option("--memory", flags->memory_mib,
                     "With --offload or --device cuda-offload: memory in MiB; 0: three quarters of what is free")
        ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 40));
    command->add_option("-o,--out", flags->out, "Folder for the model and metrics.csv");
    add_json(*command, program);
    command->callback([&program, flags] { program.run = [&program, flags] { return run_local(program, *flags); }; });
}

}  // namespace retrace::node::cli
