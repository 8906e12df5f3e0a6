// SPDX-License-Identifier: MIT
// retrace task run --offload: a training whose state takes more memory than it may use. No function here holds more of
// the state than one tensor.
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <filesystem>
#include <iostream>

#include "kernels/commit/commitment.hpp"
#include "kernels/offload/offloaded_executor.hpp"
#include "kernels/program/codec.hpp"
#include "node/cmd/local_steps.hpp"
#include "node/cmd/task_run.hpp"
#include "node/platform/machine_memory.hpp"
#include "node/tasks/initial_state.hpp"
#include "node/tasks/model_files.hpp"
#include "node/tasks/run_progress.hpp"

namespace retrace::node::cli {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

/// What a user may ask for that would need the whole state in memory.
Status<> check_flags(const TaskFile& task, const TaskRunFlags& flags) {
    if (flags.device.starts_with("cuda"))
        return error(
            "--offload is for the processors; --device cuda-offload has this machine's memory behind the device's");
    if (flags.evaluate || flags.outliers)
        return error("--offload has no --evaluate and no --outliers: they need the whole state in memory");
    if (!flags.out.empty() && task.module)
        return error("--offload writes no model.pt: leave out -o, or give the task more memory");
    return Unit{};
}

std::uint64_t memory_for(const TaskRunFlags& flags) {
    return flags.memory_mib != 0 ? flags.memory_mib << 20 : memory_left() / 4 * 3;
}

/// The state before step 0. That of a task with start weights is read as a whole.
Status<> put_first_state(const TaskFile& task, const kernels::Program& step, kernels::OffloadedExecutor& executor) {
    if (!task.initialiser) {
        RETRACE_TRY(state, read_initial_state(*task.initial_state, step));
        for (std::uint32_t i = 0; i < step.states; ++i) executor.put(i, state.tensors[i]);
        return Unit{};
    }
    RETRACE_TRY(init, read_program(*task.initialiser));
    return executor.put_initialised(init, task.seed);
}

class Offloaded {
public:
    Offloaded(const kernels::Program& step, const kernels::Inputs& inputs, kernels::OffloadedExecutor& executor)
        : step_(step), inputs_(inputs), executor_(executor), root_(kernels::CommittedProgram(step).root()) {}

    std::uint64_t number() const { return number_; }
    std::optional<std::vector<kernels::Metric>> attempt(const kernels::StopToken& stop) {
        auto metrics = executor_.attempt(stop);
        if (metrics) ++number_;
        return metrics;
    }
    Hash32 commit() { return kernels::commit_roots(root_, number_, executor_.roots()).root; }

    Status<> save(const fs::path& file, const Hash32& identity, const Losses& losses) {
        std::error_code ignored;  // If there is no folder, the file cannot be written.
        fs::create_directories(file.parent_path(), ignored);
        return save_progress(file, identity, {number_, losses}, step_.states,
                             [&](std::uint32_t state) { return executor_.bytes(state); });
    }

    /// Goes on with an interrupted run of the same training.
    Status<> go_on(const fs::path& file, const Hash32& identity, std::uint64_t steps, Losses& losses) {
        std::vector<std::uint64_t> bytes;
        for (std::uint32_t i = 0; i < step_.states; ++i)
            bytes.push_back(kernels::geometry(step_.tensors[i].dims).elements() *
                            kernels::size_of(step_.tensors[i].dtype));
        RETRACE_TRY(head, load_progress(file, identity, bytes, steps, [&](std::uint32_t state, Bytes data) {
                        executor_.put(state, {step_.tensors[state].dtype, step_.tensors[state].dims, std::move(data)});
                    }));
        if (!head) return Unit{};
        note_resumed(head->step, file);
        number_ = head->step;
        executor_.begin(number_, inputs_);
        losses = std::move(head->losses);
        return Unit{};
    }

private:
    const kernels::Program& step_;
    const kernels::Inputs& inputs_;
    kernels::OffloadedExecutor& executor_;
    const Hash32 root_;
    std::uint64_t number_ = 0;
};

Status<> write_files(const kernels::Program& step, kernels::OffloadedExecutor& executor, const MetricTable& table,
                     const fs::path& folder) {
    RETRACE_CHECK(write_model_tensors(
        step, {{"format", "pt"}}, [&](std::uint32_t state) { return executor.tensor(state); }, folder));
    return store_csv(table, folder / "metrics.csv");
}

Result<json::object> train(const TaskFile& task, const kernels::Program& step, const DataSet& data,
                           const kernels::Inputs& inputs, const TaskRunFlags& flags, const fs::path& file) {
    RETRACE_CHECK(check_flags(task, flags));
    kernels::ThreadPool pool(flags.threads);
    RETRACE_TRY(executor, kernels::OffloadedExecutor::create(step, pool, {fs::path(flags.offload), memory_for(flags)}));
    RETRACE_CHECK(put_first_state(task, step, *executor));
    executor->begin(0, inputs);
    Offloaded training(step, inputs, *executor);
    const Hash32 identity = training_identity(training.commit(), data, task.seed);
    Losses losses;
    RETRACE_CHECK(training.go_on(file, identity, task.steps, losses));
    std::cerr << "offload      " << (executor->planned_bytes() >> 20) << " MiB of memory; a step reads "
              << (executor->bytes_read() >> 20) << " MiB and writes " << (executor->bytes_written() >> 20) << " MiB"
              << (executor->direct() ? "\n" : ", through the page cache: this file system has no direct access\n");
    if (kernels::is_in_memory(flags.offload))
        std::cerr << "warning: " << flags.offload
                  << " is in memory (tmpfs), so that offloading saves none; name a folder on a disk\n";
    const LocalSteps local{[&] { return training.number(); },
                           [&](const kernels::StopToken& stop) { return training.attempt(stop); },
                           [&](const Losses& now) { return training.save(file, identity, now); }, file};
    RETRACE_CHECK(run_steps(task, local, losses));
    const MetricTable table = table_of(losses);
    json::array values;
    for (const MetricTable::Row& row : table.rows) values.emplace_back(*row.values[0]);
    json::object out{{"losses", std::move(values)}, {"state_root", to_0x(view(training.commit()))}};
    if (!flags.out.empty()) {
        if (const auto written = write_files(step, *executor, table, flags.out); !written)
            return error(saved_after(written.error(), training.save(file, identity, losses), file));
    }
    std::error_code ignored;
    fs::remove(file, ignored);  // Not before the results are on disk.
    return out;
}

}  // namespace

int run_offloaded(const Program& program, const TaskFile& task, const kernels::Program& step, const DataSet& data,
                  const TaskRunFlags& flags, const fs::path& file) {
    kernels::Inputs inputs;
    inputs.seed = task.seed;
    for (const DataSet::Part& part : data.parts) inputs.datasets.push_back(&part.tensor);
    const auto out = train(task, step, data, inputs, flags, file);
    if (!out) return fail(program, out.error().message);
    if (program.json)
        std::cout << json::serialize(*out) << '\n';
    else
        std::cout << "state root " << std::string_view(out->at("state_root").as_string()) << '\n';
    return kDone;
}

}  // namespace retrace::node::cli
