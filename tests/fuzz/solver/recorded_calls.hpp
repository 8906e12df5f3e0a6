// SPDX-License-Identifier: MIT
// A call of every supported op as PyTorch would record it, and models built from these calls. LibTorch is not needed.
#pragma once

#include <charconv>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/builder/models.hpp"
#include "merkle/base/ensure.hpp"
#include "solver/import/recording.hpp"

namespace retrace::testing {

/// One call per line: name, arguments, "->", results. Arguments and results are written as follows:
/// 2x3 float32 of these extents (f of none), i:2x3 int32, b:2x3 bool; [2x3;2] a list of float32
/// =1 a whole number, (1,2) whole numbers, ~0.5 a number, ~(1,2) numbers, ?1 a truth value, "same" a text, _ none
inline const std::vector<std::string>& recorded_calls() {
    static const std::vector<std::string> calls = [] {
        std::vector<std::string> out{
            // Element by element.
            "add 2x3 3 =1 -> 2x3", "sub 2x3 2x1 =2 -> 2x3", "mul 2x3 ~0.5 -> 2x3", "div 2x3 2x3 -> 2x3",
            "rsub 2x3 ~2.5 =1 -> 2x3", "pow 2x3 ~3 -> 2x3", "clamp 2x3 ~-0.5 ~0.9 -> 2x3", "clamp_min 2x3 ~0 -> 2x3",
            "clamp_max 2x3 ~1 -> 2x3", "addcmul 2x3 3 2x1 ~0.3 -> 2x3", "addcdiv 2x3 2x3 2x3 ~0.3 -> 2x3",
            "lerp 2x3 2x3 ~0.3 -> 2x3", "eq 2x3 ~1 -> b:2x3", "ne i:2x3 =1 -> b:2x3", "lt 2x3 3 -> b:2x3",
            "le 2x3 2x3 -> b:2x3", "gt 2x3 2x3 -> b:2x3", "ge 2x3 2x3 -> b:2x3", "logical_and b:2x3 b:3 -> b:2x3",
            "logical_or b:2x3 b:2x3 -> b:2x3", "logical_not b:2x3 -> b:2x3", "bitwise_not b:2x3 -> b:2x3",
            "bitwise_and b:2x3 b:2x3 -> b:2x3", "bitwise_or b:2x3 b:2x3 -> b:2x3", "masked_fill 2x3 b:3 ~0.7 -> 2x3",
            "where b:2x3 2x3 3 -> 2x3", "prelu 2x3x4 3 -> 2x3x4", "glu 2x4 =1 -> 2x2", "triu 2x3x4 =1 -> 2x3x4",
            "tril 3x3 =0 -> 3x3", "maximum 2x3 3 -> 2x3", "minimum 2x3 2x3 -> 2x3", "softmax 2x3x4 =1 _ -> 2x3x4",
            "_softmax 2x3 =-1 ?0 -> 2x3", "log_softmax 2x3 =1 _ -> 2x3", "_log_softmax 2x3 =0 ?0 -> 2x3",
            "dropout 2x3 ~0.5 ?1 -> 2x3", "feature_dropout 2x3x4 ~0.5 ?1 -> 2x3x4", "gelu 2x3 \"tanh\" -> 2x3",
            "rrelu 2x3 ~0.1 ~0.3 ?0 _ -> 2x3",
            // Reductions.
            "sum 2x3x4 (1) ?0 _ -> 2x4", "mean 2x3x4 (0,2) ?1 _ -> 1x3x1", "var 2x3x4 (1,2) ?0 ?0 -> 2",
            "std 2x3 (1) =1 ?1 -> 2x1", "var_mean 2x3 (1) =1 ?0 -> 2 2", "std_mean 2x3 (1) =1 ?0 -> 2 2",
            "norm 2x3 =2 (1) ?0 -> 2", "linalg_vector_norm 2x3 ~1 (1) ?0 _ -> 2", "amax 2x3x4 (0,2) ?0 -> 3",
            "amin 2x3x4 (1) ?1 -> 2x1x4", "max 2x3 =1 ?0 -> 2 i:2", "max 2x3 -> f", "min 2x3 2x3 -> 2x3",
            "argmax 2x3 =1 ?1 -> i:2x1", "argmin 2x3 _ ?0 -> i:f", "logsumexp 2x3x4 (1,2) ?0 -> 2",
            // Views, parts, joins, copies.
            "permute 2x3x4 (0,2,-2) -> 2x4x3", "transpose 2x3x4 =1 =2 -> 2x4x3", "t 2x3 -> 3x2",
            "expand 2x1x3 (2,4,3) ?0 -> 2x4x3", "expand i:1 (4) ?0 -> i:4", "split 2x5 =2 =1 -> 2x2 2x2 2x1",
            "split_with_sizes 2x5 (2,3) =1 -> 2x2 2x3", "chunk 4x2 =2 =0 -> 2x2 2x2",
            "unsafe_chunk 4x2 =2 =0 -> 2x2 2x2", "unsafe_split 4x2 =2 =0 -> 2x2 2x2",
            "unsafe_split_with_sizes 2x5 (2,3) =1 -> 2x2 2x3", "unbind 2x3 =1 -> 2 2 2", "slice 2x5 =1 =1 =4 =1 -> 2x3",
            "slice 2x7 =1 =1 =7 =2 -> 2x3", "select 2x3 =1 =-1 -> 2", "cat [2x3;2x2] =1 -> 2x5",
            "stack [2x3;2x3] =1 -> 2x2x3", "constant_pad_nd 2x3 (1,2) ~0.5 -> 2x6", "_to_copy b:2x3 =6 -> 2x3",
            "repeat 2x3 (2,1,3) -> 2x2x9", "repeat_interleave 2x3 =2 =1 _ -> 2x6", "flip 2x3 (0,1) -> 2x3",
            "roll 2x3 (1,-1) (0,1) -> 2x3", "roll 2x3 (4) () -> 2x3", "index_select 2x3 =1 i:4 -> 2x4",
            "reflection_pad1d 2x3x4 (1,2) -> 2x3x7", "reflection_pad2d 1x2x3x4 (1,2,0,1) -> 1x2x4x7",
            "reflection_pad3d 1x1x2x2x2 (1,1,1,1,1,1) -> 1x1x4x4x4", "replication_pad1d 2x3x4 (3,-1) -> 2x3x6",
            "replication_pad2d 1x2x3x4 (1,2,0,1) -> 1x2x4x7", "replication_pad3d 1x1x2x2x2 (1,1,1,1,1,1) -> 1x1x4x4x4",
            "_pad_circular 1x2x3x4 (1,2,0,1) -> 1x2x4x7", "pixel_shuffle 2x8x2x3 =2 -> 2x2x4x6",
            "pixel_unshuffle 2x2x4x6 =2 -> 2x8x2x3", "zeros_like 2x3 -> 2x3", "new_zeros 2x3 (4,2) -> 4x2",
            "zero 2x3 -> 2x3", "ones_like 2x3 -> i:2x3", "new_ones 2x3 (4) -> b:4", "full_like 2x3 ~0.5 -> 2x3",
            "fill 2x3 =7 -> 2x3", "new_full 2x3 (4) =7 -> i:4",
            // Windows.
            "conv1d 2x4x9 6x2x3 6 (2) (1) (1) =2 -> 2x6x5", "conv1d 2x4x9 6x4x3 _ (1) \"same\" (2) =1 -> 2x6x9",
            "conv2d 2x3x7x6 4x3x3x2 4 (2,1) (1,0) (1,1) =1 -> 2x4x4x5",
            "conv2d 2x3x7x6 3x1x3x3 _ (1,1) (2,2) (2,2) =3 -> 2x3x7x6",
            "convolution 2x4x5x4 4x2x3x3 2 (2,2) (1,1) (1,1) ?1 (1,0) =1 -> 2x2x10x7",
            "convolution 2x4x5 4x3x3 6 (2) (1) (2) ?1 (1) =2 -> 2x6x12",
            "_convolution 2x4x5 6x2x3 6 (2) (1) (1) ?0 (0) =2 ?0 ?0 ?0 ?0 -> 2x6x3",
            "max_pool1d 2x3x9 (2) (2) (0) (1) ?1 -> 2x3x5", "max_pool2d 2x3x6x7 (2,3) () (1,1) (1,1) ?0 -> 2x3x4x3",
            "max_pool2d_with_indices 1x2x6x7 (3,3) (2,2) (0,0) (1,1) ?1 -> 1x2x3x3 i:1x2x3x3",
            "avg_pool1d 2x3x9 (2) (2) (1) ?0 ?1 -> 2x3x5", "avg_pool2d 2x3x6x7 (3,2) (2,2) (1,1) ?1 ?0 _ -> 2x3x4x4",
            "adaptive_avg_pool2d 2x3x6x8 (3,2) -> 2x3x3x2", "adaptive_avg_pool2d 2x3x7x5 (3,2) -> 2x3x3x2",
            "adaptive_max_pool2d 2x3x6x8 (3,2) -> 2x3x3x2 i:2x3x3x2", "upsample_nearest1d 2x3x4 (9) _ -> 2x3x9",
            "upsample_nearest2d 1x2x3x4 (6,8) ~(2,2) -> 1x2x6x8", "upsample_linear1d 2x3x4 (9) ?1 _ -> 2x3x9",
            "upsample_bilinear2d 1x2x3x4 (6,7) ?0 _ _ -> 1x2x6x7",
            // Layers.
            "linear 2x5x3 4x3 4 -> 2x5x4", "matmul 2x3x4 4x5 -> 2x3x5", "matmul 4 3x4x5 -> 3x5", "mm 2x3 3x4 -> 2x4",
            "bmm 2x3x4 2x4x5 -> 2x3x5", "mv 2x3 3 -> 2", "dot 3 3 -> f", "addmm 4 2x3 3x4 =1 ~0.5 -> 2x4",
            "baddbmm 2x3x5 2x3x4 2x4x5 =1 =1 -> 2x3x5", "batch_norm 4x3x2 3 3 _ _ ?1 ~0.1 ~1e-5 ?0 -> 4x3x2",
            "batch_norm 4x3 3 _ 3 3 ?0 ~0.1 ~1e-5 ?0 -> 4x3", "layer_norm 2x3x4 (3,4) 3x4 3x4 ~1e-5 ?0 -> 2x3x4",
            "group_norm 2x6x4 =3 6 6 ~1e-5 ?0 -> 2x6x4", "embedding 5x3 i:2x4 =1 ?0 ?0 -> 2x4x3",
            "scaled_dot_product_attention 2x3x4x5 2x3x4x5 2x3x4x5 _ ~0 ?1 _ -> 2x3x4x5",
            "scaled_dot_product_attention 2x3x4x5 2x3x6x5 2x3x6x7 b:4x6 ~0 ?0 _ -> 2x3x4x7",
            "lstm 3x2x4 [2x2x5;2x2x5] [20x4;20x5;20;20;20x4;20x5;20;20] ?1 =1 ~0 ?1 ?1 ?0 -> 3x2x10 2x2x5 2x2x5",
            "gru 2x3x4 2x2x5 [15x4;15x5;15x5;15x5] ?0 =2 ~0.5 ?1 ?0 ?1 -> 2x3x5 2x2x5",
            "rnn_tanh 3x2x4 1x2x5 [5x4;5x5;5;5] ?1 =1 ~0 ?1 ?0 ?0 -> 3x2x5 1x2x5",
            "rnn_relu 3x2x4 1x2x5 [5x4;5x5] ?0 =1 ~0 ?0 ?0 ?0 -> 3x2x5 1x2x5",
            "lstm_cell 2x4 [2x5;2x5] 20x4 20x5 20 20 -> 2x5 2x5", "gru_cell 2x4 2x5 15x4 15x5 15 15 -> 2x5",
            "rnn_tanh_cell 2x4 2x5 5x4 5x5 _ _ -> 2x5", "rnn_relu_cell 2x4 2x5 5x4 5x5 5 5 -> 2x5"};
        for (const char* name :
             {"neg",        "abs",        "exp",        "log",       "tanh",       "sigmoid",     "erf",
              "sqrt",       "rsqrt",      "reciprocal", "relu",      "leaky_relu", "silu",        "hardtanh",
              "elu",        "celu",       "selu",       "softplus",  "mish",       "log_sigmoid", "hardsigmoid",
              "hardswish",  "hardshrink", "softshrink", "threshold", "sin",        "cos",         "log1p",
              "expm1",      "log2",       "log10",      "exp2",      "erfc",       "sign",        "detach",
              "contiguous", "clone",      "alias",      "lift_fresh"})
            out.push_back(name + std::string(" 2x3 -> 2x3"));
        for (const char* name : {"view", "reshape", "flatten", "unsqueeze", "squeeze", "_unsafe_view", "_reshape_alias",
                                 "unflatten", "view_as"})
            out.push_back(name + std::string(" 2x3 -> 3x1x2"));
        return out;
    }();
    return calls;
}

/// Parses lines into ops of a recording.
class CallWriter {
public:
    solver::Recording take() && { return std::move(out_); }

    std::uint32_t add(solver::ValueKind kind, kernels::DType dtype, kernels::Dims dims) {
        solver::RecordedValue value;
        value.kind = kind;
        value.dtype = dtype;
        const bool has_data = kind != solver::ValueKind::input && kind != solver::ValueKind::result;
        if (has_data) value.data = Bytes(kernels::geometry(dims).elements() * kernels::size_of(dtype));
        value.dims = std::move(dims);
        const auto number = static_cast<std::uint32_t>(out_.values.size());
        if (kind == solver::ValueKind::parameter) value.name = "p" + std::to_string(number);
        out_.values.push_back(std::move(value));
        return number;
    }

    /// Returns the ids of the call's results.
    std::vector<std::uint32_t> call(const std::string& line, const std::vector<std::uint32_t>& first = {}) {
        std::istringstream words(line);
        std::string word;
        words >> word;
        solver::RecordedOp op{"aten::" + word, "op", {}, {}, false, solver::kNoArgument};
        for (const std::uint32_t value : first) op.arguments.push_back(of_values({value}, false));
        while (words >> word && word != "->") op.arguments.push_back(argument(word));
        while (words >> word) op.results.push_back(tensor(word, false));
        out_.ops.push_back(op);
        return op.results;
    }
    solver::Recording& recording() { return out_; }

private:
    using Kind = solver::Argument::Kind;

    static solver::Argument of_values(std::vector<std::uint32_t> values, bool list) {
        solver::Argument out;
        out.kind = list ? Kind::values : Kind::value;
        out.values = std::move(values);
        return out;
    }
    static std::vector<std::string> parts(const std::string& text, char between) {
        std::vector<std::string> out;
        std::istringstream in(text);
        for (std::string part; std::getline(in, part, between);) out.push_back(part);
        return out;
    }
    std::uint32_t tensor(std::string word, bool given) {
        kernels::DType dtype = kernels::DType::f32;
        if (word.size() > 1 && word[1] == ':') {
            dtype = word[0] == 'i' ? kernels::DType::i32 : kernels::DType::boolean;
            word = word.substr(2);
        }
        kernels::Dims dims;
        for (const std::string& extent : parts(word, 'x'))
            if (extent != "f") dims.push_back(std::stoull(extent));
        const auto kind = !given                         ? solver::ValueKind::result
                          : dtype == kernels::DType::f32 ? solver::ValueKind::parameter
                                                         : solver::ValueKind::constant;
        return add(kind, dtype, dims);
    }
    solver::Argument argument(const std::string& word) {
        solver::Argument out;
        const std::string rest = word.substr(1);
        const auto inner = [](const std::string& text) { return text.substr(1, text.size() - 2); };
        switch (word[0]) {
            case '_': break;
            case '=':
            case '?':
                out.kind = word[0] == '=' ? Kind::integer : Kind::boolean;
                out.integers = {std::stoll(rest)};
                break;
            case '"':
                out.kind = Kind::text;
                out.text = inner(word);
                break;
            case '(':
                out.kind = Kind::integers;
                for (const std::string& part : parts(inner(word), ',')) out.integers.push_back(std::stoll(part));
                break;
            case '~':
                out.kind = rest[0] == '(' ? Kind::numbers : Kind::number;
                if (rest[0] != '(')
                    out.number = std::stod(rest);
                else
                    for (const std::string& part : parts(inner(rest), ',')) out.numbers.push_back(std::stod(part));
                break;
            case '[': {
                std::vector<std::uint32_t> values;
                for (const std::string& part : parts(inner(word), ';')) values.push_back(tensor(part, true));
                return of_values(values, true);
            }
            default: return of_values({tensor(word, true)}, false);
        }
        return out;
    }

    solver::Recording out_;
};

inline std::string text_of(const solver::RecordedValue& value) {
    std::string out;
    for (const std::uint64_t extent : value.dims) out += (out.empty() ? "" : "x") + std::to_string(extent);
    return out.empty() ? "f" : out;
}

/// Builds a model with input x [4, 3], which adds the sums of all results that the calls compute from parameters.
inline solver::Recording recording_of(const std::vector<std::string>& lines) {
    CallWriter writer;
    std::uint32_t y = writer.add(solver::ValueKind::input, kernels::DType::f32, {4, 3});
    for (const std::string& line : lines) {
        for (std::uint32_t result : writer.call(line)) {
            const std::string shape = text_of(writer.recording().values[result]);
            // Skips positions of maxima, which may not be read.
            const bool places = line.starts_with("max_pool") || line.starts_with("adaptive_max");
            const bool is_float = writer.recording().values[result].dtype == kernels::DType::f32;
            if (places && !is_float) continue;
            // Converts bool to int32 first, since both can be converted to float32.
            if (!is_float) result = writer.call("_to_copy -> " + shape, {result})[0];
            const std::uint32_t total = writer.call("sum -> f", {result})[0];
            y = writer.call("add -> 4x3", {y, total})[0];
        }
    }
    writer.recording().output = y;
    return std::move(writer).take();
}

}  // namespace retrace::testing
