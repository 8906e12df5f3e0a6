// SPDX-License-Identifier: MIT
#include <algorithm>
#include <random>

#include "kernels/builder/private_training.hpp"
#include "merkle/base/ensure.hpp"
#include "node/tasks/open_data.hpp"
#include "node/tasks/privacy.hpp"
#include "solver/rounds/local_group.hpp"
#include "tests/bench/rounds/trainings.hpp"

namespace retrace::bench {
namespace {

using kernels::Tensor;

constexpr std::uint32_t kMembers = 8;

/// The data of a member; the key is that of its noise.
struct Share {
    Tensor x, y, key;
};

Tensor rows_of(const Tensor& tensor, std::uint64_t first, std::uint64_t count) {
    kernels::Dims dims = tensor.dims;
    dims[0] = count;
    Tensor out = kernels::zeros(tensor.dtype, dims);
    const std::size_t row = tensor.data.size() / tensor.dims[0];
    std::copy_n(tensor.data.begin() + static_cast<std::ptrdiff_t>(first * row), count * row, out.data.begin());
    return out;
}

std::vector<Share> shares_of(const node::DataSet& data, std::uint64_t share, std::uint64_t seed) {
    std::mt19937 random(static_cast<std::uint32_t>(seed) + 1);
    std::vector<Share> out;
    for (std::uint32_t i = 0; i < kMembers; ++i) {
        out.push_back({rows_of(*data.find("x"), i * share, share), rows_of(*data.find("y"), i * share, share),
                       kernels::zeros(kernels::DType::i32, {8})});
        for (std::uint8_t& byte : out.back().key.data) byte = static_cast<std::uint8_t>(random());
    }
    return out;
}

struct Schedule {
    std::uint64_t batch = 0, epochs = 0;
    std::uint32_t inner = 0;
    float rate = 0;
};
/// Noise asks for large batches, and for more epochs than a training without it takes.
constexpr Schedule kSilent{50, 20, 15, 0.05f}, kNoisy{2500, 60, 3, 4.0f};

}  // namespace

Result<Score> train_apart(double epsilon, std::uint64_t seed, kernels::ThreadPool& pool) {
    node::DataRequest request;
    request.flat = true;
    RETRACE_TRY(data, node::open_data(request));
    const Schedule& schedule = epsilon == 0 ? kSilent : kNoisy;
    kernels::ModelSpec model;
    model.input = {784};
    kernels::TrainingSpec training;
    training.samples = data.train.samples() / kMembers;
    training.batch = schedule.batch;
    training.steps = schedule.epochs * (training.samples / training.batch);
    training.optimizer = kernels::Optimizer::sgd;
    training.learning_rate = schedule.rate;
    training.schedule = "cosine";
    kernels::PrivateSpec terms;
    if (epsilon != 0) {
        RETRACE_TRY(noise, node::noise_for({0, schedule.epochs, 1e-5}, epsilon));
        terms.noise = static_cast<float>(noise);
    }
    const auto programs = epsilon == 0
                              ? kernels::build_training(model, training, data.test->samples(), 500)
                              : kernels::build_private_training(model, training, terms, data.test->samples(), 500);
    ensure(programs.has_value(), "the programs of a benchmark");
    kernels::RoundsSpec spec;
    spec.update = kernels::UpdateKind::dense;
    spec.inner = schedule.inner;
    const auto plan = kernels::build_rounds(*programs, training, spec);
    ensure(plan.has_value(), "the plan of a benchmark");

    const std::vector<Share> shares = shares_of(data.train, training.samples, seed);
    solver::LocalGroup group(*plan, seed, {}, kMembers, pool);
    for (std::uint32_t i = 0; i < kMembers; ++i) {
        std::vector<const Tensor*> own{&shares[i].x, &shares[i].y};
        if (epsilon != 0) own.push_back(&shares[i].key);
        group.set_data(i, std::move(own));
    }
    for (std::uint64_t step = 0; step < training.steps; step += spec.inner)
        group.play(std::vector<solver::MemberTurn>(kMembers, {spec.inner, true}));
    return score(*data.test, programs->eval, plan->phases.front().program, group.catch_up(0), pool);
}

}  // namespace retrace::bench
