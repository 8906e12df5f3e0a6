// SPDX-License-Identifier: MIT
#include "tests/simulation/catalogue.hpp"

#include "kernels/builder/training.hpp"
#include "merkle/base/ensure.hpp"
#include "solver/train/trainer.hpp"

namespace retrace::sim {
namespace {

constexpr std::uint64_t kSamples = 16;
constexpr std::uint64_t kStepsOfSchedule = 64;

TaskKind make_kind(std::string name, const kernels::ModelSpec& model, kernels::TrainingSpec training) {
    training.samples = kSamples;
    training.batch = 4;
    training.steps = kStepsOfSchedule;
    auto built = kernels::build_training(model, training, kSamples, 4);
    ensure(built.has_value(), "the simulation's programs are valid");
    TaskKind kind;
    kind.name = std::move(name);
    kind.data = made_up_data(built->train, model.classes);
    kernels::ThreadPool pool(1);
    for (const kernels::Tensor& tensor : kind.data) kind.data_roots.push_back(kernels::tensor_root(tensor, pool));
    kind.program_bytes = kernels::encode(built->train);
    kind.init_bytes = kernels::encode(built->init);
    kind.program = std::make_unique<const kernels::CommittedProgram>(std::move(built->train));
    kind.init = std::make_unique<const kernels::CommittedProgram>(std::move(built->init));
    return kind;
}

}  // namespace

std::vector<kernels::Tensor> made_up_data(const kernels::Program& program, std::uint64_t classes) {
    std::vector<kernels::Tensor> data;
    std::uint32_t random = 1;
    for (std::uint32_t i = 0; i < program.datasets; ++i) {
        const auto& record = program.tensors[program.states + program.constants + i];
        kernels::Tensor tensor = kernels::zeros(record.dtype, record.dims);
        for (std::uint8_t& byte : tensor.data) {
            random = random * 1664525u + 1013904223u;
            byte = static_cast<std::uint8_t>(i == 1 ? (random >> 24) % classes : random >> 24);  // 1: labels.
        }
        data.push_back(std::move(tensor));
    }
    return data;
}

kernels::Inputs TaskKind::inputs(std::uint64_t seed) const {
    kernels::Inputs inputs{seed, {}};
    for (const kernels::Tensor& tensor : data) inputs.datasets.push_back(&tensor);
    return inputs;
}

Catalogue make_catalogue() {
    Catalogue out;
    kernels::ModelSpec linear;
    linear.hidden = {5};
    linear.input = {1, 2, 3};
    linear.classes = 3;
    kernels::TrainingSpec sgd;
    sgd.optimizer = kernels::Optimizer::sgd;
    sgd.learning_rate = 0.1f;
    out.push_back(make_kind("mlp-sgd", linear, sgd));
    kernels::ModelSpec wide = linear;
    wide.hidden = {34};  // More than one tile.
    out.push_back(make_kind("wide-sgd", wide, sgd));
    kernels::TrainingSpec adamw;
    adamw.weight_decay = 0.01f;
    out.push_back(make_kind("mlp-adamw", linear, adamw));
    return out;
}

const Catalogue& catalogue() {
    static const Catalogue made = make_catalogue();
    return made;
}

std::vector<Hash32> true_roots(const TaskKind& kind, std::uint64_t steps, std::uint64_t interval, std::uint64_t seed,
                               kernels::ThreadPool& pool) {
    solver::ProgramRunner runner(kind.program->program(), kind.inputs(seed), pool);
    kernels::State state = kernels::run_initialiser(kind.init->program(), seed, pool);
    std::vector<Hash32> roots{kernels::commit_state(kind.program->root(), state, pool).root};
    solver::Trainer trainer(*kind.program, runner, {steps, interval}, pool);
    const solver::Schedule schedule{steps, interval};
    const auto trained =
        trainer.run(state, schedule.segments(), {},
                    [&](std::uint64_t, const kernels::StateCommitment& at, const kernels::State&) -> Status<> {
                        roots.push_back(at.root);
                        return Unit{};
                    });
    ensure(trained.has_value(), "nothing stops an honest run");
    return roots;
}

}  // namespace retrace::sim
