// SPDX-License-Identifier: MIT
#include "node/tasks/evaluate.hpp"

#include "kernels/ops/opcode.hpp"
#include "kernels/program/codec.hpp"
#include "merkle/base/durable_file.hpp"

namespace retrace::node {
namespace {

using kernels::Program;

bool same_shape(const kernels::Tensor& tensor, const kernels::TensorRecord& record) {
    return tensor.dtype == record.dtype && tensor.dims == record.dims;
}

Status<> check_fit(const Program& program, const kernels::State& state, const std::vector<kernels::Tensor>& data) {
    if (program.states != state.tensors.size() || program.datasets != data.size()) {
        return error("the evaluation program belongs to another model or data set");
    }
    for (std::size_t i = 0; i < state.tensors.size(); ++i) {
        if (!same_shape(state.tensors[i], program.tensors[i])) {
            return error("the evaluation program expects another shape of " + program.tensors[i].name);
        }
    }
    for (std::size_t i = 0; i < data.size(); ++i) {
        if (!same_shape(data[i], program.tensors[program.states + program.constants + i])) {
            return error("the test data have another shape than the evaluation program expects");
        }
    }
    return Unit{};
}

/// Returns the rows that one step reads: the length of the sequential index; 0 when the program has none.
std::uint64_t batch_rows(const Program& program) {
    for (std::uint32_t op = 0; op < program.ops.size(); ++op) {
        if (program.ops[op].code != kernels::OpCode::sequential_index) continue;
        return program.tensors[program.output_of(op)].dims.at(0);
    }
    return 0;
}

}  // namespace

Result<Program> read_program(const std::filesystem::path& path) {
    const auto file = read_file(path, kProgramBytesMax);
    if (!file) return error(file.error().message);
    auto program = kernels::decode_program(*file);
    if (!program) return error(path.string() + ": " + program.error().message);
    return program;
}

Result<Evaluation> evaluate(const Program& program, const kernels::State& state,
                            const std::vector<kernels::Tensor>& data, kernels::ThreadPool& pool) {
    RETRACE_CHECK(check_fit(program, state, data));
    const std::uint64_t rows = batch_rows(program);
    if (rows == 0 || data.empty() || data[0].dims.empty())
        return error("the program does not walk a data set in order");
    kernels::Inputs inputs;
    for (const kernels::Tensor& tensor : data) inputs.datasets.push_back(&tensor);
    kernels::Executor executor(program, pool);
    kernels::State at = state;
    Evaluation out;
    out.samples = data[0].dims[0];
    const std::uint64_t steps = (out.samples + rows - 1) / rows;
    for (at.step = 0; at.step < steps;) {
        for (const kernels::Metric& metric : executor.step(at, inputs)) {
            if (metric.name == "correct") out.counts_correct = true;
            if (metric.name == "correct") out.correct += static_cast<std::uint64_t>(metric.value);
            if (metric.name == "loss") out.loss += double{metric.value} * static_cast<double>(rows);
        }
    }
    out.loss /= static_cast<double>(out.samples);
    out.labels = data.size() > 1 ? data[1].elements() : out.samples;
    return out;
}

}  // namespace retrace::node
