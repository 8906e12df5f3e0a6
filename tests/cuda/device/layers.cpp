// SPDX-License-Identifier: MIT
#include "kernels/cuda/executor.hpp"
#include "kernels/exec/chunks.hpp"
#include "kernels/exec/fused_runs.hpp"
#include "kernels/scalar/scalar.hpp"
#include "tests/cuda/device/parity.hpp"
#include "tests/unit/kernels/fused_patterns.hpp"
#include "tests/unit/kernels/op_cases.hpp"

namespace retrace::kernels::parity {
namespace {

using testing::Data;

/// Compares one step of the whole program, in which the device runs layers as in a training.
Status<> compare(const Program& program, Data data, ThreadPool& pool) {
    State expected = testing::random_state(program, data, 7), found = expected;
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

/// The patterns, and device-only cases: rows larger than shared memory, attention two heads at a time.
std::vector<testing::FusedPattern> layers() {
    std::vector<testing::FusedPattern> out = testing::fused_patterns();
    out.push_back({"layer norm of long rows", testing::layer_norm_program(5, 13'001)});
    out.push_back({"softmax and cross entropy of long rows", testing::softmax_cross_entropy_program(70, 20'003)});
    const Program attention = with_constants_first(testing::attention_program(5, 70, 12, true));
    out.push_back({"attention in chunks", with_runs_in_chunks(attention, {2 * 70 * 70 * 4, 64, 100'000})});
    return out;
}

}  // namespace

void check_layers(ThreadPool& pool, Tally& tally) {
    for (const auto& [name, program] : layers()) {
        for (const Data data : {Data::bell, Data::heavy, Data::special})
            tally.count(name + ", data " + std::to_string(static_cast<int>(data)), compare(program, data, pool));
    }
}

}  // namespace retrace::kernels::parity
