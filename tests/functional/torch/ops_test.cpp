// SPDX-License-Identifier: MIT
// Every op that has a rule: loss and gradients of a model around it are LibTorch's.
#include "tests/functional/torch/ops.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "kernels/exec/executor.hpp"
#include "solver/import/mapping.hpp"
#include "solver/torch/torch_model.hpp"
#include "tests/functional/torch/torch_peer.hpp"

namespace retrace::testing {

void PrintTo(const OpModel& model, std::ostream* out) {
    *out << model.name;
}

namespace {

constexpr std::uint64_t kBatch = 3;

kernels::Dims with_batch(const OpModel& model) {
    kernels::Dims out{kBatch};
    for (const std::int64_t extent : model.sample) out.push_back(static_cast<std::uint64_t>(extent));
    return out;
}

struct OurStep {
    double loss = 0, eval_loss = 0;
    std::map<std::string, std::vector<float>> gradients;
};

kernels::State state_of(const kernels::Program& program, const std::vector<solver::NamedTensor>& initial) {
    kernels::State state;
    for (std::uint32_t i = 0; i < program.states; ++i) {
        for (const solver::NamedTensor& named : initial) {
            if (named.name == program.tensors[i].name) state.tensors.push_back(named.tensor);
        }
    }
    return state;
}

double metric(const std::vector<kernels::Metric>& metrics) {
    for (const kernels::Metric& metric : metrics) {
        if (metric.name == "loss") return static_cast<double>(metric.value);
    }
    return -1;
}

class Ops : public ::testing::TestWithParam<OpModel> {
protected:
    void SetUp() override {
        std::string pattern = (std::filesystem::temp_directory_path() / "retrace-op-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        file_ = folder_ / "model.pt";
    }
    void TearDown() override {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }

    /// A step of plain descent at rate 1: what a tensor loses is its gradient.
    Result<OurStep> step(const kernels::Tensor& x, const kernels::Tensor& y) {
        const solver::SampleBatch batch{false, x.dims};
        RETRACE_TRY(recorded, solver::record_model(file_, batch, batch));
        solver::MappingOptions options;
        options.precision = kernels::Precision::f32;
        options.x_dtype = kernels::DType::f32;
        options.sample = {x.dims.begin() + 1, x.dims.end()};
        options.classes = 5;
        RETRACE_TRY(mapped, solver::map_model(std::move(recorded), options));
        kernels::TrainingSpec spec;
        spec.samples = spec.batch = kBatch;
        spec.steps = 1;
        spec.order = kernels::DataOrder::sequential;
        spec.optimizer = kernels::Optimizer::sgd;
        spec.learning_rate = 1.0f;
        spec.momentum = 0.0f;
        RETRACE_TRY(programs, kernels::build_training(mapped.source, spec, kBatch, kBatch));
        const kernels::State before = state_of(programs.train, mapped.initial);
        kernels::State after = before, evaluated = before;
        kernels::Inputs inputs{1, {&x, &y}};
        kernels::ThreadPool pool(1);
        OurStep out;
        out.loss = metric(kernels::Executor(programs.train, pool).step(after, inputs));
        out.eval_loss = metric(kernels::Executor(programs.eval, pool).step(evaluated, inputs));
        for (std::uint32_t i = 0; i < programs.train.states; ++i) {
            std::vector<float>& gradient = out.gradients[programs.train.tensors[i].name];
            for (std::uint64_t j = 0; j < before.tensors[i].elements(); ++j)
                gradient.push_back(before.tensors[i].f32()[j] - after.tensors[i].f32()[j]);
        }
        return out;
    }

    std::filesystem::path folder_, file_;
};

double length(const std::vector<float>& v) {
    double out = 0;
    for (const float x : v) out += static_cast<double>(x) * static_cast<double>(x);
    return std::sqrt(out);
}

TEST_P(Ops, loss_and_gradients_are_those_of_LibTorch) {
    const OpModel& model = GetParam();
    make_op_model(model, kBatch, file_);
    kernels::Tensor x = kernels::zeros(kernels::DType::f32, with_batch(model));
    const std::vector<float> samples = op_samples(x.elements());
    std::copy(samples.begin(), samples.end(), x.f32());
    kernels::Tensor y = kernels::zeros(kernels::DType::u8, {kBatch});
    const std::vector<std::int64_t> labels{4, 0, 2};
    for (std::size_t i = 0; i < labels.size(); ++i) y.data[i] = static_cast<std::uint8_t>(labels[i]);
    const auto ours = step(x, y);
    ASSERT_TRUE(ours) << ours.error().message;
    std::vector<std::int64_t> sizes(x.dims.begin(), x.dims.end());
    const PeerStep theirs = step_of(file_, sizes, samples, labels);
    EXPECT_NEAR(ours->loss, theirs.loss, 1e-4 * theirs.loss);
    EXPECT_NEAR(ours->eval_loss, theirs.eval_loss, 1e-4 * theirs.eval_loss);
    for (const auto& [name, wanted] : theirs.gradients) {
        const auto found = ours->gradients.find(name);
        ASSERT_NE(found, ours->gradients.end()) << name;
        ASSERT_EQ(found->second.size(), wanted.size()) << name;
        std::vector<float> difference(wanted.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) difference[i] = found->second[i] - wanted[i];
        EXPECT_LE(length(difference), 1e-4 * length(wanted) + 1e-6) << "gradient of " << name;
    }
}

INSTANTIATE_TEST_SUITE_P(All, Ops, ::testing::ValuesIn(op_models()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace retrace::testing
