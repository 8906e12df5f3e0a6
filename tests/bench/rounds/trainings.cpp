// SPDX-License-Identifier: MIT
#include "tests/bench/rounds/trainings.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "kernels/builder/models.hpp"
#include "kernels/exec/executor.hpp"
#include "merkle/base/ensure.hpp"
#include "node/tasks/evaluate.hpp"
#include "node/tasks/open_data.hpp"
#include "solver/rounds/local_group.hpp"

namespace retrace::bench {
namespace {

using kernels::State;

kernels::TrainingPrograms programs_of(const Recipe& recipe, std::uint64_t steps, std::uint64_t batch) {
    kernels::TrainingSpec training = recipe.training;
    training.steps = steps;
    training.batch = batch;
    auto programs = kernels::build_training(recipe.model, training, recipe.test.samples(), recipe.test_batch);
    ensure(programs.has_value(), "the programs of a benchmark");
    return *std::move(programs);
}

std::vector<const kernels::Tensor*> tensors_of(const node::DataSet& data) { return {data.find("x"), data.find("y")}; }

State trained_alone(const Recipe& recipe, const kernels::TrainingPrograms& programs, std::uint64_t steps,
                    std::uint64_t seed, kernels::ThreadPool& pool) {
    State state = kernels::run_initialiser(programs.init, seed, pool);
    kernels::Executor executor(programs.train, pool);
    const kernels::Inputs inputs{seed, tensors_of(recipe.data)};
    for (std::uint64_t step = 0; step < steps; ++step) executor.step(state, inputs);
    return state;
}

/// The state tensors whose names end like this, one after the other, in the rows of the shared tensor that has `shape`.
kernels::Tensor in_rows(const kernels::Program& train, const State& state, const std::string& suffix,
                        const kernels::Dims& shape) {
    kernels::Tensor out = kernels::zeros(kernels::DType::f32, shape);
    std::uint8_t* at = out.data.data();
    for (std::uint32_t t = 0; t < train.states; ++t) {
        const std::string& name = train.tensors[t].name;
        const bool moment = name.ends_with(".m") || name.ends_with(".v");
        if (suffix.empty() ? moment : !name.ends_with(suffix)) continue;
        at = std::ranges::copy(state.tensors[t].data, at).out;
    }
    return out;
}

}  // namespace

Score score(const node::DataSet& test, const kernels::Program& eval, const kernels::Program& of,
            const kernels::State& state, kernels::ThreadPool& pool) {
    kernels::State model;
    for (std::uint32_t t = 0; t < eval.states; ++t) {
        const kernels::TensorRecord& wanted = eval.tensors[t];
        model.tensors.push_back(kernels::zeros(wanted.dtype, wanted.dims));  // Moments that a plan does not keep.
        for (std::uint32_t k = 0; k < of.states; ++k)
            if (of.tensors[k].name == wanted.name) model.tensors.back() = state.tensors[k];
    }
    const auto result = node::evaluate(eval, model, {*test.find("x"), *test.find("y")}, pool);
    ensure(result.has_value(), "the evaluation of a benchmark");
    return {result->loss, result->accuracy()};
}

Result<Recipe> text_recipe() {
    const std::filesystem::path path = std::filesystem::temp_directory_path() / "retrace-bench-kjv.txt";
    const std::string command = "bible -f 'gen1:1-rev22:21' > " + path.string() + " 2>/dev/null";
    if (std::system(command.c_str()) != 0) return error("the King James Bible is missing: apt-get install bible-kjv");
    node::DataRequest request;
    request.data = path.string();
    request.context = 64;
    auto data = node::open_data(request);
    std::filesystem::remove(path);
    if (!data) return error(data.error().message);
    Recipe out;
    out.model = {"gpt", {}, {request.context}, 256, 64, 2, 4};
    out.training.samples = data->train.samples();
    out.training.batch = 4;
    out.training.learning_rate = 3e-3f;
    out.training.schedule = "cosine";
    out.training.warmup_steps = 100;
    out.training.beta2 = 0.95f;
    out.training.weight_decay = 0.1f;
    out.training.clip_norm = 1.0f;
    out.data = std::move(data->train);
    out.test = *std::move(data->test);
    out.test_batch = 64;
    return out;
}

Result<Recipe> image_recipe() {
    node::DataRequest request;
    auto data = node::open_data(request);
    if (!data) return error(data.error().message);
    Recipe out;
    out.model.kind = "lenet";
    out.training.samples = data->train.samples();
    out.training.batch = 16;
    out.training.learning_rate = 2e-3f;
    out.training.schedule = "cosine";
    out.data = std::move(data->train);
    out.test = *std::move(data->test);
    out.test_batch = 500;
    return out;
}

Score train_alone(const Recipe& recipe, std::uint64_t steps, std::uint64_t seed, kernels::ThreadPool& pool) {
    const kernels::TrainingPrograms programs = programs_of(recipe, steps, recipe.training.batch * recipe.members);
    const State state = trained_alone(recipe, programs, steps, seed, pool);
    return score(recipe.test, programs.eval, programs.train, state, pool);
}

Score train_group(const Recipe& recipe, const kernels::RoundsSpec& spec, std::uint64_t steps, std::uint64_t seed,
                  double lost, kernels::ThreadPool& pool) {
    const kernels::TrainingPrograms programs = programs_of(recipe, steps, recipe.training.batch);
    kernels::TrainingSpec training = recipe.training;
    training.steps = steps;
    const auto plan = kernels::build_rounds(programs, training, spec);
    ensure(plan.has_value(), "the plan of a benchmark");
    solver::LocalGroup group(*plan, seed, tensors_of(recipe.data), recipe.members, pool);
    std::mt19937_64 random(seed);
    std::vector<solver::MemberTurn> turns(recipe.members);
    for (std::uint64_t round = 0; round < steps / spec.inner; ++round) {
        for (solver::MemberTurn& turn : turns)
            turn = {spec.inner, static_cast<double>(random() >> 11) * 0x1p-53 >= lost};
        group.play(turns);
    }
    return score(recipe.test, programs.eval, plan->phases.front().program, group.catch_up(0), pool);
}

Score train_gradients(const Recipe& recipe, std::uint32_t bits, std::uint64_t steps, std::uint64_t seed,
                      kernels::ThreadPool& pool) {
    const std::uint64_t alone = steps * 2 / 3;
    kernels::TrainingSpec training = recipe.training;
    training.steps = steps;
    const kernels::TrainingPrograms together = programs_of(recipe, steps, training.batch * recipe.members),
                                    programs = programs_of(recipe, steps, training.batch);
    const State state = trained_alone(recipe, together, alone, seed, pool);
    const auto gradient = kernels::build_gradient(kernels::source_of(recipe.model, training.precision), training);
    ensure(gradient.has_value(), "the program of a benchmark");
    kernels::RoundsSpec spec;
    spec.update = kernels::UpdateKind::gradient;
    spec.inner = 1;
    spec.bits = bits;
    const auto plan = kernels::build_rounds(programs, training, spec, &*gradient);
    ensure(plan.has_value(), "the plan of a benchmark");
    const kernels::Program& of_plan = plan->phases.front().program;
    kernels::Tensor norm = kernels::zeros(kernels::DType::f32, {});
    *norm.f32() = training.clip_norm;
    const kernels::Dims& shape = of_plan.tensors[0].dims;
    const kernels::Tensor anchor = in_rows(together.train, state, "", shape),
                          m = in_rows(together.train, state, ".m", shape),
                          v = in_rows(together.train, state, ".v", shape);
    solver::LocalGroup group(*plan, seed, tensors_of(recipe.data), recipe.members, pool, alone,
                             {&anchor, &norm, &m, &v});
    for (std::uint64_t step = alone; step < steps; ++step)
        group.play(std::vector<solver::MemberTurn>(recipe.members, {1, true}));
    return score(recipe.test, programs.eval, of_plan, group.catch_up(0), pool);
}

}  // namespace retrace::bench