// SPDX-License-Identifier: MIT
#include <random>

#include "kernels/cuda/executor.hpp"
#include "kernels/scalar/scalar.hpp"
#include "tests/cuda/device/parity.hpp"
#include "tests/unit/kernels/fused_patterns.hpp"
#include "tests/unit/kernels/op_cases.hpp"

namespace retrace::kernels::parity {
namespace {

using testing::Data;

/// One step of the whole program, in which the device runs layers as it does in a training.
Status<> compare(const Program& program, Data data, ThreadPool& pool) {
    std::mt19937_64 random(7);
    OpFacts facts;
    for (std::uint32_t i = 0; i < program.states; ++i)
        facts.inputs.push_back({program.tensors[i].dtype, program.tensors[i].dims});
    State expected{0, testing::random_inputs(facts, data, random)}, found = expected;
    const auto metrics = Executor(program, pool, Backend::reference).step(expected, {});
    RETRACE_TRY(device, cuda::DeviceExecutor::create(program));
    RETRACE_CHECK(device->load(found, {}));
    RETRACE_TRY(own, device->step());
    for (std::size_t i = 0; i < metrics.size(); ++i) {
        if (to_bits(own[i].value) != to_bits(metrics[i].value)) return error("another " + metrics[i].name);
    }
    RETRACE_CHECK(device->store(found));
    if (found != expected) return error("other bits");
    return retrace::Unit{};
}

}  // namespace

void check_layers(ThreadPool& pool, Tally& tally) {
    for (const auto& [name, program] : testing::fused_patterns()) {
        for (const Data data : {Data::bell, Data::heavy, Data::special})
            tally.count(name + ", data " + std::to_string(static_cast<int>(data)),
                        compare(program, data, pool));
    }
}

}  // namespace retrace::kernels::parity
