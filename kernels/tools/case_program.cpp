// SPDX-License-Identifier: MIT
#include "kernels/tools/case_program.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "kernels/matmul/matmul.hpp"
#include "kernels/ops/op.hpp"
#include "kernels/program/codec.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels::tools {
namespace {

/// Adds data sets first, then ops; `op` returns the number of the op's output tensor.
class Builder {
public:
    std::uint32_t input(Dims dims) {
        program_.tensors.push_back({TensorKind::data, DType::f32, std::move(dims), kNoWriter, {}});
        return program_.datasets++;
    }
    std::uint32_t op(OpCode code, std::vector<std::uint32_t> inputs, std::vector<std::uint64_t> attributes, Dims dims) {
        program_.ops.push_back({code, std::move(inputs), std::move(attributes), {}});
        program_.tensors.push_back({TensorKind::op_output, DType::f32, std::move(dims), kNoWriter, {}});
        return static_cast<std::uint32_t>(program_.tensors.size() - 1);
    }
    const Dims& dims(std::uint32_t tensor) const { return program_.tensors[tensor].dims; }
    Program done() { return std::move(program_); }

private:
    Program program_;
};

Result<Program> matmul_program(const KnownAnswer& known) {
    static constexpr std::array<std::string_view, 4> kNames = {"f32", "i8x1", "i8x2", "i8x3"};
    const auto name = std::find(kNames.begin(), kNames.end(), known.precision);
    if (name == kNames.end()) return error("unknown precision \"" + known.precision + "\"");
    Builder builder;
    const std::uint32_t a = builder.input({known.rows, known.depth}), b = builder.input({known.depth, known.cols});
    const auto precision = static_cast<std::uint64_t>(name - kNames.begin()) + 1;
    builder.op(OpCode::matmul, {a, b}, {precision, 0, 0}, {known.rows, known.cols});
    return builder.done();
}

Result<Program> elementwise_program(const KnownAnswer& known) {
    Builder builder;
    std::vector<std::uint32_t> inputs;
    for (std::size_t i = 0; i < known.inputs.size(); ++i) inputs.push_back(builder.input({known.cols}));
    for (const OpRule& rule : all_rules()) {
        if (rule.name != known.function || !is_elementwise(rule.code) || rule.inputs_min != inputs.size()) continue;
        builder.op(rule.code, inputs, {}, {known.cols});
        return builder.done();
    }
    return error("unknown function \"" + known.function + "\"");
}

Program reduction_program(const KnownAnswer& known) {
    const bool by_rows = known.op.starts_with("row_"), maximum = known.op.ends_with("_max");
    const OpCode code =
        by_rows ? (maximum ? OpCode::row_max : OpCode::row_sum) : (maximum ? OpCode::col_max : OpCode::col_sum);
    Builder builder;
    std::uint32_t value = builder.input({known.rows, known.cols});
    do {
        Dims dims = builder.dims(value);
        std::uint64_t& extent = by_rows ? dims[1] : dims[0];
        extent = reduce_level_size(extent);
        value = builder.op(code, {value}, {}, dims);
    } while (builder.dims(value)[by_rows ? 1 : 0] != 1);
    if (known.op.ends_with("_mean")) {
        const auto terms = static_cast<float>(by_rows ? known.cols : known.rows);
        const std::uint32_t count = builder.op(OpCode::fill, {}, {to_bits(terms)}, {});
        const Dims dims = builder.dims(value);
        builder.op(OpCode::div, {value, count}, {}, dims);
    }
    return builder.done();
}

}  // namespace

Result<std::optional<Program>> program_of(const KnownAnswer& known) {
    if (known.op == "philox_blocks") return std::optional<Program>();
    RETRACE_TRY(program, known.is_matmul()           ? matmul_program(known)
                         : known.op == "elementwise" ? elementwise_program(known)
                                                     : Result<Program>(reduction_program(known)));
    RETRACE_CHECK(check(program));
    return std::optional(std::move(program));
}

namespace {

template <class Runner>
Words run_on(const Program& program, const KnownAnswer& known, Runner& runner) {
    std::vector<Tensor> tensors;
    Inputs inputs;
    tensors.reserve(known.inputs.size());
    for (std::size_t i = 0; i < known.inputs.size(); ++i) {
        Tensor tensor = zeros(DType::f32, program.tensors[i].dims);
        for (std::uint64_t n = 0; n < tensor.elements(); ++n) {
            store_u32(tensor.data.data() + 4 * n, to_bits(known.inputs[i][n]));
        }
        tensors.push_back(std::move(tensor));
        inputs.datasets.push_back(&tensors.back());
    }
    const auto last = static_cast<std::uint32_t>(program.ops.size() - 1);
    const std::vector<Tensor> out = runner.outputs({}, inputs, {last});
    Words words;
    for (std::uint64_t n = 0; n < out.front().elements(); ++n) words.push_back(out.front().bits(n));
    return words;
}

}  // namespace

Words run_program(const Program& program, const KnownAnswer& known, Executor& executor) {
    return run_on(program, known, executor);
}
Words run_program(const Program& program, const KnownAnswer& known, ExternalBackend& device) {
    return run_on(program, known, device);
}

}  // namespace retrace::kernels::tools
