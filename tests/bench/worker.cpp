// SPDX-License-Identifier: MIT
// `bench_worker RETRACE [ROUNDS]`: compares training in a worker process with training in this process, alternating;
// medians of the ratio. A round is some steps and a checkpoint: its roots and its state, in this process's memory.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/builder/training.hpp"
#include "solver/sandbox/sandbox.hpp"
#include "solver/train/trainer.hpp"
#include "solver/worker/remote_runner.hpp"

namespace retrace::bench {
namespace {

using namespace solver;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

struct Row {
    const char* name;
    std::uint64_t hidden, batch, steps;
};

struct Seconds {
    double steps = 0, checkpoint = 0;
};

Seconds round(StepRunner& runner, const kernels::CommittedProgram& program, kernels::State& state, std::uint64_t steps,
              kernels::ThreadPool& pool) {
    const auto training = runner.train(program, state, pool);
    training->advance();  // Not measured, because it also loads the state of the previous round.
    Seconds out;
    const double begin = now();
    training->run_ahead(training->step() + steps);
    for (std::uint64_t i = 0; i < steps; ++i) training->advance();
    const double trained = now();
    training->begin_commitment();
    (void)training->finish_commitment();
    (void)training->committed();
    out.steps = trained - begin;
    out.checkpoint = now() - trained;
    return out;
}

void measure(const Row& row, const char* executable, std::size_t rounds) {
    kernels::ModelSpec model;
    model.hidden = {row.hidden, row.hidden};
    kernels::TrainingSpec training;
    training.samples = 1024;
    training.batch = row.batch;
    auto programs = kernels::build_training(model, training, 64, 64).value();
    const kernels::CommittedProgram program(std::move(programs.train));
    kernels::ThreadPool pool;
    kernels::State here = kernels::run_initialiser(programs.init, 1, pool), there = here;
    std::uint64_t bytes = 0;
    for (const kernels::Tensor& tensor : here.tensors) bytes += tensor.data.size();
    std::vector<kernels::Tensor> data;
    kernels::Inputs inputs{1, {}};
    const kernels::Program& it = program.program();
    for (std::uint32_t i = 0; i < it.datasets; ++i) {
        const kernels::TensorRecord& record = it.tensors[it.states + it.constants + i];
        data.push_back(kernels::zeros(record.dtype, record.dims));
    }
    for (const kernels::Tensor& tensor : data) inputs.datasets.push_back(&tensor);
    ProgramRunner own(it, inputs, pool);
    WorkerOptions options;
    options.executable = executable;
    options.limits = {std::uint64_t{4} << 30, pool.threads(), sandbox_is_supported()};
    RemoteRunner remote(1, "bench", it, inputs, options,
                        std::make_shared<WorkerRecord>([](const std::string& what) { std::puts(what.c_str()); }));
    std::vector<double> own_steps, steps, checkpoints, whole;
    for (std::size_t i = 0; i < rounds; ++i) {
        Seconds a, b;
        if (i % 2 == 0) a = round(own, program, here, row.steps, pool);
        b = round(remote, program, there, row.steps, pool);
        if (i % 2 == 1) a = round(own, program, here, row.steps, pool);
        own_steps.push_back(a.steps / static_cast<double>(row.steps));
        steps.push_back(b.steps / a.steps);
        checkpoints.push_back(b.checkpoint - a.checkpoint);
        whole.push_back((b.steps + b.checkpoint) / (a.steps + a.checkpoint));
    }
    std::printf(
        "%-8s state %7.2f MiB, step %9.3f ms: steps in a worker take %.3f times as long, a checkpoint %.1f ms "
        "more, %llu steps with one %.3f times\n",
        row.name, static_cast<double>(bytes) / (1 << 20), 1e3 * median(own_steps), median(steps),
        1e3 * median(checkpoints), static_cast<unsigned long long>(row.steps), median(whole));
}

}  // namespace
}  // namespace retrace::bench

int main(int argc, char** argv) {
    using namespace retrace::bench;
    if (argc < 2) {
        std::fputs("usage: bench_worker RETRACE [ROUNDS]\n", stderr);
        return 2;
    }
    const std::size_t rounds = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 15;
    for (const Row& row : {Row{"small", 64, 32, 500}, Row{"128 MiB", 3000, 32, 20}}) measure(row, argv[1], rounds);
    return 0;
}
