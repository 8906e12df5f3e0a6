// SPDX-License-Identifier: MIT
#include <random>

#include "kernels/cuda/executor.hpp"
#include "tests/cuda/device/one_op.hpp"
#include "tests/cuda/device/parity.hpp"
#include "tests/unit/kernels/op_cases.hpp"

namespace retrace::kernels::parity {
namespace {

using testing::OpCase;

/// Compares the device with a back end of the CPU at two steps.
Status<> compare(const OpCase& one, Backend backend, ThreadPool& pool) {
    const Program program = program_of(one.facts);
    Inputs inputs{5, {}};
    for (const Tensor& input : one.inputs) inputs.datasets.push_back(&input);
    Executor cpu(program, pool, backend);
    RETRACE_TRY(device, cuda::DeviceExecutor::create(program));
    for (const std::uint64_t step : {std::uint64_t{0}, std::uint64_t{77}}) {
        const State state{step, {}};
        RETRACE_CHECK(device->load(state, inputs));
        RETRACE_TRY(found, device->outputs({0}));
        if (found.front() != cpu.output(state, inputs, 0)) return error("other bits at step " + std::to_string(step));
        RETRACE_TRY(roots, device->trace());
        if (roots != cpu.trace(state, inputs)) return error("another root at step " + std::to_string(step));
    }
    return retrace::Unit{};
}

/// Product number `i`: extents around the edges of tiles and blocks; precisions and storages alternate.
OpCase product(std::uint64_t i) {
    struct Shape {
        std::uint64_t batch, m, k, n;
    };
    static constexpr Shape kShapes[] = {{1, 128, 512, 128}, {3, 129, 257, 65},     {1, 300, 1030, 270},
                                        {1, 1, 4097, 3},    {1, 2200, 1030, 1500}, {2, 1900, 300, 516}};
    const Shape& s = kShapes[i / 16 % std::size(kShapes)];
    const std::uint64_t precision = 1 + (i + 2) % 4, ta = i / 4 & 1, tb = i / 8 & 1;
    OpFacts facts;
    facts.op = {OpCode::matmul, {0, 1}, {precision, ta, tb}, {}};
    facts.inputs = {{DType::f32, {s.batch, ta ? s.k : s.m, ta ? s.m : s.k}},
                    {DType::f32, {s.batch, tb ? s.n : s.k, tb ? s.k : s.n}}};
    facts.output = {DType::f32, {s.batch, s.m, s.n}};
    std::mt19937_64 random(i);
    return {"product #" + std::to_string(i), facts,
            testing::random_inputs(facts, static_cast<testing::Data>(i % 3 % 2), random)};
}

std::string named(const OpCase& one) { return one.name + ", output " + shape_text(one.facts.output.dims); }

}  // namespace

void check_ops(std::uint64_t seed, int rounds, ThreadPool& pool, Tally& tally) {
    for (const OpCase& one : testing::random_cases(seed, rounds)) {
        tally.count(named(one), compare(one, Backend::reference, pool));
    }
}

void check_products(int most, ThreadPool& pool, Tally& tally) {
    for (int i = 0; i < most; ++i) {
        const OpCase one = product(static_cast<std::uint64_t>(i));
        tally.count(named(one), compare(one, Backend::cpu, pool));
    }
}

}  // namespace retrace::kernels::parity
