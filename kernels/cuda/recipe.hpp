// SPDX-License-Identifier: MIT
// A recipe: a run of elementwise ops and reductions of rows as a constant, from which nvcc makes a kernel that keeps the
// run's values in registers. C++17, as .cu files include it.
#pragma once

#include <cstdint>

#include "kernels/ops/opcode.hpp"

#if defined(__CUDACC__)
#define RETRACE_ANYWHERE __host__ __device__
#else
#define RETRACE_ANYWHERE
#endif

namespace retrace::kernels::cuda {

/// How a recipe's input is read.
enum class RecipeInput : std::uint8_t {
    each = 'e',    ///< An element for each element of the run.
    row = 'r',     ///< A row that all rows share, or one of some that begin again every so many rows.
    column = 'c',  ///< One element for each row.
    single = 's',  ///< One element.
    mask = 'm',    ///< As `row`, in bytes.
};

struct RecipeStep {
    OpCode code{};
    bool integers = false;      ///< Compares integers.
    bool stored = false;        ///< Its result is written to memory.
    std::uint8_t from[3] = {};  ///< Its operands: numbers of inputs, then of steps.
    std::uint8_t operands = 0;
};

/// The values of a recipe are numbered: inputs first, in the order in which they are read, then the results of steps. A
/// reduction is one step, whatever its levels.
struct Recipe {
    static constexpr std::uint32_t kInputsMax = 14, kStepsMax = 24;
    std::uint32_t inputs = 0, steps = 0;
    RecipeInput input[kInputsMax] = {};
    RecipeStep step[kStepsMax] = {};

    RETRACE_ANYWHERE constexpr bool reduces(std::uint32_t value) const {
        return value >= inputs &&
               (step[value - inputs].code == OpCode::row_sum || step[value - inputs].code == OpCode::row_max);
    }
    /// Whether the value has one element for each row, or one at all.
    RETRACE_ANYWHERE constexpr bool is_single(std::uint32_t value) const {
        if (value < inputs) return input[value] == RecipeInput::column || input[value] == RecipeInput::single;
        if (reduces(value)) return true;
        const RecipeStep& own = step[value - inputs];
        for (std::uint32_t i = 0; i < own.operands; ++i)
            if (!is_single(own.from[i])) return false;
        return true;
    }
    constexpr bool operator==(const Recipe& other) const {
        if (inputs != other.inputs || steps != other.steps) return false;
        for (std::uint32_t i = 0; i < inputs; ++i)
            if (input[i] != other.input[i]) return false;
        for (std::uint32_t i = 0; i < steps; ++i) {
            const RecipeStep &a = step[i], &b = other.step[i];
            if (a.code != b.code || a.integers != b.integers || a.stored != b.stored || a.operands != b.operands)
                return false;
            for (std::uint32_t k = 0; k < a.operands; ++k)
                if (a.from[k] != b.from[k]) return false;
        }
        return true;
    }
};

struct RecipeOp {
    const char* name;
    OpCode code;
    bool integers;
    std::uint8_t operands;
};
/// The ops that a recipe may have, with their names in a recipe's text.
inline constexpr RecipeOp kRecipeOps[] = {
    {"neg", OpCode::neg, false, 1},     {"abs", OpCode::abs, false, 1},         {"exp", OpCode::exp, false, 1},
    {"log", OpCode::log, false, 1},     {"tanh", OpCode::tanh, false, 1},       {"sigmoid", OpCode::sigmoid, false, 1},
    {"erf", OpCode::erf, false, 1},     {"sqrt", OpCode::sqrt, false, 1},       {"rsqrt", OpCode::rsqrt, false, 1},
    {"relu", OpCode::relu, false, 1},   {"add", OpCode::add, false, 2},         {"sub", OpCode::sub, false, 2},
    {"mul", OpCode::mul, false, 2},     {"div", OpCode::div, false, 2},         {"max", OpCode::max, false, 2},
    {"min", OpCode::min, false, 2},     {"greater", OpCode::greater, false, 2}, {"equal_int", OpCode::equal, true, 2},
    {"fma", OpCode::fma, false, 3},     {"select", OpCode::select, false, 3},   {"float", OpCode::convert, false, 1},
    {"sum", OpCode::row_sum, false, 1}, {"top", OpCode::row_max, false, 1},
};

/// Returns the recipe of a text: the inputs' letters, then steps of the form `; name operand …`, whose results are
/// stored if a `!` follows. A text that says anything else does not compile.
constexpr Recipe recipe(const char* text) {
    Recipe out;
    const auto skip = [&] {
        while (*text == ' ') ++text;
    };
    for (skip(); *text != ';' && *text != 0; skip()) out.input[out.inputs++] = static_cast<RecipeInput>(*text++);
    while (*text == ';') {
        ++text;
        skip();
        RecipeStep& step = out.step[out.steps++];
        for (const RecipeOp& op : kRecipeOps) {
            std::uint32_t length = 0;
            while (op.name[length] != 0 && op.name[length] == text[length]) ++length;
            if (op.name[length] != 0 || text[length] != ' ') continue;
            step.code = op.code, step.integers = op.integers, step.operands = op.operands;
            text += length;
            break;
        }
        if (step.operands == 0) throw "no such op";
        for (std::uint32_t i = 0; i < step.operands; ++i) {
            skip();
            if (*text < '0' || *text > '9') throw "too few operands";
            std::uint32_t number = 0;
            for (; *text >= '0' && *text <= '9'; ++text) number = 10 * number + static_cast<std::uint32_t>(*text - '0');
            if (number >= out.inputs + out.steps - 1) throw "an operand that does not exist yet";
            step.from[i] = static_cast<std::uint8_t>(number);
        }
        skip();
        if (*text == '!') ++text, step.stored = true;
        skip();
    }
    if (*text != 0) throw "more than a recipe";
    return out;
}

}  // namespace retrace::kernels::cuda
