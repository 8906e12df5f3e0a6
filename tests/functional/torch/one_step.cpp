// SPDX-License-Identifier: MIT
#include "tests/functional/torch/one_step.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "solver/import/mapping.hpp"
#include "solver/torch/torch_model.hpp"
#include "tests/functional/torch/torch_peer.hpp"

namespace retrace::testing {
namespace {

kernels::State state_of(const kernels::Program& program, const std::vector<solver::NamedTensor>& initial) {
    kernels::State state;
    for (std::uint32_t i = 0; i < program.states; ++i) {
        for (const solver::NamedTensor& named : initial) {
            if (named.name == program.tensors[i].name) state.tensors.push_back(named.tensor);
        }
    }
    return state;
}

double loss_of(const std::vector<kernels::Metric>& metrics) {
    for (const kernels::Metric& metric : metrics) {
        if (metric.name == "loss") return static_cast<double>(metric.value);
    }
    return -1;
}

double length(const std::vector<float>& v) {
    double out = 0;
    for (const float x : v) out += static_cast<double>(x) * static_cast<double>(x);
    return std::sqrt(out);
}

Result<kernels::TrainingPrograms> programs_of(const solver::MappedModel& model, std::uint64_t batch) {
    kernels::TrainingSpec spec;
    spec.samples = spec.batch = batch;
    spec.steps = 1;
    spec.order = kernels::DataOrder::sequential;
    spec.optimizer = kernels::Optimizer::sgd;
    spec.learning_rate = 1.0f;
    spec.momentum = 0.0f;
    return kernels::build_training(model.source, spec, batch, batch);
}

}  // namespace

Result<OurStep> step_of_ours(const std::filesystem::path& model, const kernels::Tensor& x, const kernels::Tensor& y,
                             std::uint64_t classes) {
    const solver::SampleBatch batch{false, x.dims};
    std::ifstream file(model, std::ios::binary);
    RETRACE_TRY(recorded, solver::record_model(file, batch, batch));
    solver::MappingOptions options;
    options.precision = kernels::Precision::f32;
    options.x_dtype = kernels::DType::f32;
    options.sample = {x.dims.begin() + 1, x.dims.end()};
    options.classes = classes;
    RETRACE_TRY(mapped, solver::map_model(std::move(recorded), options));
    RETRACE_TRY(programs, programs_of(mapped, x.dims[0]));
    const kernels::State before = state_of(programs.train, mapped.initial);
    kernels::State after = before, evaluated = before;
    const kernels::Inputs inputs{1, {&x, &y}};
    kernels::ThreadPool pool(1);
    OurStep out;
    out.loss = loss_of(kernels::Executor(programs.train, pool).step(after, inputs));
    out.eval_loss = loss_of(kernels::Executor(programs.eval, pool).step(evaluated, inputs));
    for (std::uint32_t i = 0; i < programs.train.states; ++i) {
        const std::string& name = programs.train.tensors[i].name;
        std::vector<float>& gradient = out.gradients[name];
        for (std::uint64_t j = 0; j < before.tensors[i].elements(); ++j)
            gradient.push_back(before.tensors[i].f32()[j] - after.tensors[i].f32()[j]);
        out.after.push_back({name, after.tensors[i]});
    }
    return out;
}

void expect_step_of_LibTorch(const OurStep& ours, const std::filesystem::path& model, const kernels::Tensor& x,
                             const kernels::Tensor& y) {
    const std::vector<std::int64_t> sizes(x.dims.begin(), x.dims.end());
    std::vector<std::int64_t> labels;
    for (std::uint64_t i = 0; i < y.elements(); ++i) labels.push_back(y.data[i]);
    const PeerStep theirs = step_of(model, sizes, {x.f32(), x.f32() + x.elements()}, labels);
    EXPECT_NEAR(ours.loss, theirs.loss, 1e-4 * theirs.loss);
    EXPECT_NEAR(ours.eval_loss, theirs.eval_loss, 1e-4 * theirs.eval_loss);
    for (const auto& [name, wanted] : theirs.gradients) {
        const auto found = ours.gradients.find(name);
        ASSERT_NE(found, ours.gradients.end()) << name;
        ASSERT_EQ(found->second.size(), wanted.size()) << name;
        std::vector<float> difference(wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) difference[i] = found->second[i] - wanted[i];
        EXPECT_LE(length(difference), 1e-4 * length(wanted) + 1e-6) << "gradient of " << name;
    }
}

kernels::Tensor samples_of(const kernels::Dims& dims) {
    kernels::Tensor out = kernels::zeros(kernels::DType::f32, dims);
    const std::vector<float> numbers = op_samples(out.elements());
    std::copy(numbers.begin(), numbers.end(), out.f32());
    return out;
}

kernels::Tensor labels_of(std::uint64_t count) {
    kernels::Tensor out = kernels::zeros(kernels::DType::u8, {count});
    for (std::uint64_t i = 0; i < count; ++i) out.data[i] = static_cast<std::uint8_t>((4 + 3 * i) % 5);
    return out;
}

}  // namespace retrace::testing
