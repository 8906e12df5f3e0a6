// SPDX-License-Identifier: MIT
// retrace task run: the same training on this machine, without a market.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <iostream>

#include "kernels/commit/commitment.hpp"
#include "kernels/program/codec.hpp"
#include "node/cli/task_options.hpp"
#include "node/data/dataset.hpp"
#include "node/task/evaluate.hpp"

namespace retrace::node::cli {
namespace {

namespace json = boost::json;

int run_local(const Program& program, const std::string& folder, unsigned threads) {
    const auto task = load_task_file(folder);
    if (!task) return fail(program, task.error().message);
    if (!task->initialiser) return fail(program, "the task has no initialiser program");
    const auto train = read_program(task->program);
    const auto init = read_program(*task->initialiser);
    const auto data = load_dataset(task->data);
    if (!train) return fail(program, train.error().message);
    if (!init) return fail(program, init.error().message);
    if (!data) return fail(program, data.error().message);
    kernels::Inputs inputs;
    inputs.seed = task->seed;
    for (const DataSet::Part& part : data->parts) inputs.datasets.push_back(&part.tensor);
    if (inputs.datasets.size() != train->datasets)
        return fail(program, "the program takes another number of data sets");

    kernels::ThreadPool pool(threads);
    kernels::State state = kernels::run_initialiser(*init, task->seed, pool);
    kernels::Executor executor(*train, pool);
    json::array losses;
    while (state.step < task->steps) {
        const std::uint64_t step = state.step;
        for (const kernels::Metric& metric : executor.step(state, inputs)) {
            if (metric.name != "loss") continue;
            losses.emplace_back(metric.value);
            if (!program.json) std::cout << "step " << step << " loss " << metric.value << '\n';
        }
    }
    const kernels::CommittedProgram committed(*train);
    const Hash32 root = kernels::commit_state(committed.root(), state, pool).root;
    if (program.json) {
        std::cout << json::serialize(
                         json::object{{"losses", std::move(losses)}, {"state_root", to_hex(view(root))}})
                  << '\n';
    } else {
        std::cout << "state root " << to_hex(view(root)) << '\n';
    }
    return kDone;
}

}  // namespace

void add_task_run(CLI::App& parent, Program& program) {
    CLI::App* command =
        parent.add_subcommand("run", "Train a compiled task on this machine, without a market");
    auto folder = std::make_shared<std::string>();
    auto threads = std::make_shared<unsigned>(0);
    auto local = std::make_shared<bool>(false);
    command->add_option("FOLDER", *folder, "task.toml or its folder")->required();
    command->add_flag("--local", *local, "On this machine (the only way there is)");
    command->add_option("--threads", *threads, "Threads; 0: all cores");
    add_json(*command, program);
    command->callback([&program, folder, threads, local] {
        program.run = [&program, folder, threads, local] { return run_local(program, *folder, *threads); };
    });
}

}  // namespace retrace::node::cli
