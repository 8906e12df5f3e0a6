// SPDX-License-Identifier: MIT
// `bench_fused [--json] [--rounds N]`: each layer that the executor fuses, forward and backward, compared with the same
// ops one by one in the same process; samples alternate; medians of the time of one thread. The extents are those of
// the GPT of bench_train.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/exec/executor.hpp"
#include "tests/bench/rows.hpp"
#include "tests/unit/kernels/fused_patterns.hpp"

namespace retrace::bench {
namespace {

using kernels::Fusion;

double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

kernels::State noise(const kernels::Program& program) {
    kernels::State state;
    std::uint32_t random = 1;
    for (std::uint32_t i = 0; i < program.states; ++i) {
        kernels::Tensor tensor = kernels::zeros(program.tensors[i].dtype, program.tensors[i].dims);
        for (std::uint64_t e = 0; e < tensor.elements(); ++e) {
            random = random * 1664525u + 1013904223u;
            if (tensor.dtype == kernels::DType::f32)
                tensor.f32()[e] = static_cast<float>(random >> 8) * 0x1p-23f - 1.0f;
            else
                tensor.data[4 * e] = static_cast<std::uint8_t>(random >> 24);
        }
        state.tensors.push_back(std::move(tensor));
    }
    return state;
}

/// Steps per second of `program` with all fusion and with none; prints elementwise runs alone on standard error.
Row measure(const std::string& name, const kernels::Program& program, int rounds) {
    constexpr Fusion kWays[] = {Fusion::none, Fusion::elements, Fusion::runs};
    kernels::ThreadPool pool(1);
    kernels::State state = noise(program);
    std::vector<kernels::Executor> executors;
    for (const Fusion way : kWays) executors.emplace_back(program, pool, kernels::Backend::cpu, way);
    std::vector<double> samples[3], seconds;
    for (int round = -1; round < rounds; ++round) {
        for (std::size_t i = 0; i < executors.size(); ++i) {
            const double begin = thread_seconds();
            executors[i].step(state, {});
            if (round >= 0) samples[i].push_back(thread_seconds() - begin);
        }
    }
    std::fprintf(stderr, "%s:", name.c_str());
    for (std::size_t i = 0; i < executors.size(); ++i) {
        seconds.push_back(median(samples[i]));
        std::fprintf(stderr, " %s %.3f ms, %.1f MB;",
                     i == 0   ? "one by one"
                     : i == 1 ? "elementwise runs"
                              : "fused runs",
                     1e3 * seconds[i], 1e-6 * static_cast<double>(executors[i].planned_bytes()));
    }
    std::fputc('\n', stderr);
    return {name, "steps/s", "the same ops one by one", 1 / seconds[2], 1 / seconds[0]};
}

int run(const std::vector<std::string>& arguments) {
    namespace patterns = kernels::testing;
    bool json = false, lines = false;
    int rounds = 9;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i] == "--json")
            json = true;
        else if (arguments[i] == "--rows")  // for bench_kernels
            lines = true;
        else if (arguments[i] == "--rounds" && i + 1 < arguments.size())
            rounds = std::max(1, std::atoi(arguments[++i].c_str()));
        else
            return std::fputs("usage: bench_fused [--json] [--rounds N]\n", stderr), 2;
    }
    const std::vector<patterns::FusedPattern> layers = {
        {"fused_layer_norm", patterns::layer_norm_program(4096, 384)},
        {"fused_softmax_cross_entropy", patterns::softmax_cross_entropy_program(4096, 256)},
        {"fused_bias_gelu", patterns::bias_gelu_program(4096, 1536)},
        {"fused_attention", patterns::attention_program(96, 256, 64, true)},
        {"fused_adamw", patterns::adamw_program(1536, 384)},
    };
    std::vector<Row> rows;
    for (const auto& [name, program] : layers) rows.push_back(measure(name, program, rounds));
    if (lines) {
        for (const Row& row : rows) print_row(row);
    } else {
        report("one core, forward and backward", rows, json);
    }
    return 0;
}

}  // namespace
}  // namespace retrace::bench

int main(int argc, char** argv) { return retrace::bench::run(std::vector<std::string>(argv + 1, argv + argc)); }
