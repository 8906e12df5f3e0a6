// SPDX-License-Identifier: MIT
#include "kernels/tools/reference.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string_view>
#include <utility>

#include "kernels/matmul/matmul.hpp"
#include "kernels/random/philox.hpp"
#include "kernels/reduce/reduce.hpp"
#include "kernels/scalar/functions.hpp"

namespace retrace::kernels::tools {

namespace {

std::optional<float> apply(std::string_view function, const float* x, std::size_t operands) {
    if (operands == 1) {
        if (function == "neg") return -x[0];
        if (function == "sqrt") return fn_sqrt(x[0]);
        if (function == "rsqrt") return fn_rsqrt(x[0]);
        if (function == "exp") return fn_exp(x[0]);
        if (function == "log") return fn_log(x[0]);
        if (function == "tanh") return fn_tanh(x[0]);
        if (function == "sigmoid") return fn_sigmoid(x[0]);
        if (function == "erf") return fn_erf(x[0]);
    } else if (operands == 2) {
        if (function == "add") return x[0] + x[1];
        if (function == "sub") return x[0] - x[1];
        if (function == "mul") return x[0] * x[1];
        if (function == "div") return divide32(x[0], x[1]);
        if (function == "max") return max32(x[0], x[1]);
        if (function == "pow") return fn_pow(x[0], x[1]);
    } else if (operands == 3 && function == "fma") {
        return fma32(x[0], x[1], x[2]);
    }
    return std::nullopt;
}

Words bits_of(const std::vector<float>& values) {
    Words words;
    words.reserve(values.size());
    for (const float value : values) words.push_back(to_bits(value));
    return words;
}

Result<Words> run_matmul(const KnownAnswer& known) {
    static constexpr std::pair<std::string_view, Precision> kPrecisions[] = {
        {"f32", Precision::f32}, {"i8x1", Precision::i8x1}, {"i8x2", Precision::i8x2}, {"i8x3", Precision::i8x3}};
    for (const auto& [name, precision] : kPrecisions) {
        if (name != known.precision) continue;
        const MatrixView a{known.inputs[0].data(), known.rows, known.depth, known.depth, 1};
        const MatrixView b{known.inputs[1].data(), known.depth, known.cols, known.cols, 1};
        std::vector<float> c(known.rows * known.cols);
        matmul_reference(precision, a, b, c.data(), known.cols);
        return bits_of(c);
    }
    return error("unknown precision \"" + known.precision + "\"");
}

Result<Words> run_elementwise(const KnownAnswer& known) {
    std::vector<float> out(known.cols);
    for (std::uint64_t n = 0; n < known.cols; ++n) {
        float x[3] = {};
        for (std::size_t i = 0; i < known.inputs.size(); ++i) x[i] = known.inputs[i][n];
        const std::optional<float> value = apply(known.function, x, known.inputs.size());
        if (!value) return error("unknown function \"" + known.function + "\"");
        out[n] = finish(*value);
    }
    return bits_of(out);
}

Words run_philox(const KnownAnswer& known) {
    Words out;
    PhiloxBlock counter;
    std::copy(known.counter.begin(), known.counter.end(), counter.word);
    for (std::uint64_t n = 0; n < known.rows; ++n) {
        const PhiloxBlock block = philox({known.key[0], known.key[1]}, counter);
        out.insert(out.end(), block.word, block.word + 4);
        for (std::uint32_t& word : counter.word) {
            if (++word != 0) break;
        }
    }
    return out;
}

Result<Words> run_reduction(const KnownAnswer& known) {
    const bool by_rows = known.op.starts_with("row_");
    const float* x = known.inputs[0].data();
    std::vector<float> out(by_rows ? known.rows : known.cols);
    const Reduction kind = known.op.ends_with("_max") ? Reduction::max : Reduction::sum;
    if (by_rows)
        reduce_rows(kind, x, known.rows, known.cols, out.data());
    else
        reduce_cols(kind, x, known.rows, known.cols, out.data());
    if (known.op.ends_with("_mean")) {
        const float n = static_cast<float>(by_rows ? known.cols : known.rows);
        for (float& value : out) value = finish(divide32(value, n));
    }
    return bits_of(out);
}

std::string hex_of(std::uint32_t word) {
    char digits[9];
    std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(word));
    return digits;
}

}  // namespace

Result<Words> reference_words(const KnownAnswer& known) {
    if (known.op == "matmul") return run_matmul(known);
    if (known.op == "elementwise") return run_elementwise(known);
    if (known.op == "philox_blocks") return run_philox(known);
    return run_reduction(known);
}

std::string difference(const KnownAnswer& known, const Words& words) {
    if (words.size() != known.words) return std::to_string(words.size()) + " words, not " + std::to_string(known.words);
    if (digest_of(words) == known.sha256) return {};
    Words expected = known.output;
    const bool given = !expected.empty();
    if (!given) {
        if (auto reference = reference_words(known)) expected = *std::move(reference);
    }
    const std::size_t common = std::min(expected.size(), words.size());
    for (std::size_t n = 0; n < common; ++n) {
        if (words[n] == expected[n]) continue;
        return "element " + std::to_string(n) + " is " + hex_of(words[n]) + ", " +
               (given ? "not " : "the reference's is ") + hex_of(expected[n]);
    }
    return "every element is the reference's, and \"sha256\" is the hash of others";
}

}  // namespace retrace::kernels::tools
