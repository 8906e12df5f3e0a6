// SPDX-License-Identifier: MIT
// One forward pass of a PyTorch model as a list of ATen calls on numbered values. solver/torch writes it,
// `mapping` turns it into primitive ops; nothing here knows LibTorch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/program/program.hpp"

namespace retrace::solver {

enum class ValueKind : std::uint8_t {
    input = 1,
    parameter = 2,  ///< Wants a gradient.
    frozen = 3,     ///< A parameter that wants none.
    buffer = 4,
    constant = 5,  ///< Depends on neither input nor parameters: known when the model is read.
    result = 6,
};

struct RecordedValue {
    ValueKind kind = ValueKind::result;
    kernels::DType dtype = kernels::DType::f32;  ///< f32, i32 (PyTorch's int64 too) or bool.
    kernels::Dims dims;
    std::string name;               ///< Path in the module, for parameters and buffers.
    std::vector<std::string> also;  ///< Other paths of the same tensor (tied weights).
    Bytes data;                     ///< Little-endian elements, for parameters, buffers and constants.
    bool operator==(const RecordedValue&) const = default;
};

struct Argument {
    enum class Kind : std::uint8_t {
        none = 1,
        value = 2,
        values = 3,
        integer = 4,
        integers = 5,
        number = 6,
        boolean = 7,
        text = 8,
        numbers = 9,
    };
    Kind kind = Kind::none;
    std::vector<std::uint32_t> values;   ///< value: one; values: a list of tensors.
    std::vector<std::int64_t> integers;  ///< integer, boolean: one.
    double number = 0;
    std::vector<double> numbers;
    std::string text;
    bool operator==(const Argument&) const = default;
};

inline constexpr std::uint32_t kNoArgument = 0xffffffff;

struct RecordedOp {
    std::string name;   ///< "aten::add": without overload, and without the underscore of the forms in place.
    std::string where;  ///< Path of the module that called it, for people.
    std::vector<Argument> arguments;
    std::vector<std::uint32_t> results;
    bool detached = false;  ///< Called under no_grad.
    /// The argument that a detached op writes. Autograd sees no write, so the gradient of its new contents is the
    /// gradient of its old contents.
    std::uint32_t overwritten = kNoArgument;
    bool operator==(const RecordedOp&) const = default;
};

struct Recording {
    std::vector<RecordedValue> values;
    std::vector<RecordedOp> ops;
    std::uint32_t output = 0;
    /// Buffers that were changed in place, and the values that they got.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> updates;
    bool operator==(const Recording&) const = default;
};

/// The same model in both modes; the parameters and buffers come first, in one order.
struct RecordedModel {
    Recording train, eval;
    bool operator==(const RecordedModel&) const = default;
};

/// With gradients and optimiser a program of 2^20 ops has hardly room for more. A loop without end shall not go on for
/// twenty minutes, and each write in place looks at all that came before.
inline constexpr std::size_t kRecordedOpsMax = std::size_t{1} << 17;
inline constexpr std::size_t kRecordedValuesMax = std::size_t{1} << 20;

/// Checks the rules for recordings (README), on which all their readers rely. The error names the broken rule.
Status<> check_recording(const RecordedModel& model);

Bytes encode(const RecordedModel& model);
/// One that passes check_recording().
Result<RecordedModel> decode_recording(View bytes);

}  // namespace retrace::solver
