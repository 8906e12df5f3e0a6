// SPDX-License-Identifier: MIT
#include "kernels/builder/training.hpp"
#include "merkle/base/ensure.hpp"
#include "solver/artifacts/packed_tensor.hpp"
#include "solver/rounds/local_group.hpp"
#include "tests/bench/rounds/measurements.hpp"
#include "tests/bench/rounds/wire.hpp"

namespace retrace::bench {
namespace {

kernels::Tensor tokens(std::uint64_t samples, std::uint64_t length) {
    kernels::Tensor out = kernels::zeros(kernels::DType::u8, {samples, length});
    std::uint32_t word = 1;
    for (std::uint8_t& byte : out.data) {
        word = word * 1664525u + 1013904223u;
        byte = static_cast<std::uint8_t>(word >> 24);
    }
    return out;
}

std::uint64_t parameters_of(const kernels::Program& eval) {
    std::uint64_t out = 0;
    for (std::uint32_t t = 0; t < eval.states; ++t) {
        const std::string& name = eval.tensors[t].name;
        if (!name.ends_with(".m") && !name.ends_with(".v")) out += kernels::geometry(eval.tensors[t].dims).elements();
    }
    return out;
}

}  // namespace

std::vector<Row> measure_ratio() {
    // A GPT of 10.9 million parameters; one step is enough for a message.
    kernels::ModelSpec model{"gpt", {}, {64}, 256, 384, 6, 6};
    kernels::TrainingSpec training;
    training.samples = 8;
    training.batch = 1;
    const auto programs = kernels::build_training(model, training, 8, 1);
    ensure(programs.has_value(), "the programs of a benchmark");
    const kernels::Tensor x = tokens(8, 64), y = tokens(8, 64);
    const std::uint64_t dense = 4 * parameters_of(programs->eval);
    kernels::ThreadPool pool;
    std::vector<Row> rows;
    for (const std::uint32_t bits : {1U, 2U}) {
        kernels::RoundsSpec spec;
        spec.bits = bits;
        const auto plan = kernels::build_rounds(*programs, training, spec);
        ensure(plan.has_value(), "the plan of a benchmark");
        solver::LocalGroup group(*plan, 1, {&x, &y}, 1, pool);
        group.play({{1, true}});
        std::vector<Bytes> bodies;
        for (const std::uint32_t t : plan->public_tensors) {
            bodies.push_back(solver::transport_form(group.state(0).tensors[t]));
        }
        rows.push_back({"rounds_ratio_" + std::to_string(bits) + "bit", "bytes", "message on the wire",
                        static_cast<double>(dense), static_cast<double>(exchanged_bytes(bodies))});
    }
    return rows;
}

}  // namespace retrace::bench
