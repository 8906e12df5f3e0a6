// SPDX-License-Identifier: MIT
#include "tests/unit/kernels/random_programs.hpp"

#include <random>

#include "kernels/builder/compose.hpp"
#include "tests/unit/kernels/op_cases.hpp"

namespace retrace::kernels::testing {
namespace {

class ProgramGenerator {
public:
    explicit ProgramGenerator(std::uint64_t seed) : random_(seed), rows_(1 + below(40)), cols_(1 + below(2000)) {}

    Program program() {
        std::vector<Value> states;
        for (std::uint64_t i = 0; i < 6; ++i) {
            states.push_back(g_.state("s" + std::to_string(i), DType::f32, some_dims()));
            values_.push_back(states.back());
        }
        for (std::uint64_t i = 0; i < 40; ++i) values_.push_back(some_op());
        for (const Value state : states) {
            if (below(4) != 0) g_.set_next(state, fitting(g_.dims(state)));
        }
        g_.set_metric(sum_all(g_, broadcast(g_, values_.back(), {rows_, cols_})), "sum");
        return *g_.build();
    }

private:
    std::uint64_t below(std::uint64_t n) { return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(random_); }

    Dims some_dims() {
        switch (below(5)) {
            case 0: return {cols_};
            case 1: return {rows_, 1};
            case 2: return {};
            default: return {rows_, cols_};
        }
    }

    Value some_value() { return values_[below(values_.size())]; }

    Value some_op() {
        static constexpr OpCode kBinary[] = {OpCode::add, OpCode::sub, OpCode::mul, OpCode::max, OpCode::min};
        const Value a = some_value(), b = some_value(), c = some_value();
        switch (below(10)) {
            case 0: return g_.op(OpCode::tanh, {a});
            case 1: return fma(g_, a, b, c);
            case 2: return select(g_, g_.op(OpCode::less, {a, b}), b, c);
            case 3: return row(sum_columns(g_, a));
            case 4: return column(sum_rows(g_, broadcast(g_, a, {rows_, cols_})));
            case 5: return below(2) == 0 ? reshape(g_, a, g_.dims(a)) : reshape_back(a);
            default: return g_.op(kBinary[below(5)], {a, b});
        }
    }

    Value row(Value x) { return g_.matrix(x).cols == cols_ ? x : broadcast(g_, x, {1, cols_}); }
    Value column(Value x) { return reshape(g_, x, {rows_, 1}); }

    /// A reshape that a later op reverses to the old extents: an alias of an alias.
    Value reshape_back(Value x) {
        const Dims dims = g_.dims(x);
        return reshape(g_, g_.op(OpCode::reshape, {x}, {}, {DType::f32, {1, g_.matrix(x).elements(), 1}}), dims);
    }

    /// An op output with these extents: an existing value that fits, or one that is made to fit.
    Value fitting(const Dims& dims) {
        for (int tries = 0; tries < 30; ++tries) {
            const Value value = some_value();
            if (value.id >= 6 && g_.dims(value) == dims) return value;
        }
        return g_.op(OpCode::mul, {g_.scalar(0.5f), g_.scalar(0.25f)}, {}, {DType::f32, dims});
    }

    std::mt19937_64 random_;
    std::uint64_t rows_, cols_;
    Graph g_;
    std::vector<Value> values_;
};

}  // namespace

Program random_program(std::uint64_t seed) { return ProgramGenerator(seed).program(); }

State random_state(const Program& program, std::uint64_t seed) { return random_state(program, Data::bell, seed); }

}  // namespace retrace::kernels::testing
