// SPDX-License-Identifier: MIT
// Recordings from a compromised process: refused by name, or compiled to a program that passes the checker. An input is
// a recording, or choices that modify real calls in ways that a decoder would not notice.
#include <cmath>
#include <limits>

#include "kernels/program/codec.hpp"
#include "kernels/program/limits.hpp"
#include "solver/import/mapping.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/random.hpp"
#include "tests/fuzz/driver/target.hpp"
#include "tests/fuzz/solver/recorded_calls.hpp"

namespace retrace::fuzz {

using kernels::Dims;
using kernels::DType;
using kernels::LossKind;
using solver::Argument;
using solver::RecordedOp;
using solver::Recording;
using solver::ValueKind;
using Kind = Argument::Kind;

namespace {

constexpr std::uint8_t kEncoded = 0, kBroken = 1;

constexpr std::int64_t kIntegers[] = {0,
                                      1,
                                      -1,
                                      2,
                                      3,
                                      5,
                                      -3,
                                      17,
                                      64,
                                      65,
                                      512,
                                      4095,
                                      4096,
                                      4097,
                                      1 << 20,
                                      0x7fffffff,
                                      -0x80000000ll,
                                      1ll << 32,
                                      1ll << 36,
                                      1ll << 62,
                                      std::numeric_limits<std::int64_t>::max(),
                                      std::numeric_limits<std::int64_t>::min()};
constexpr std::uint64_t kExtents[] = {0,       1,       2,       3,          4,          5,          6,         8,
                                      31,      64,      256,     257,        513,        4096,       4097,      1 << 16,
                                      1 << 20, 1 << 24, 1 << 30, 0x7fffffff, 0x80000000, 1ull << 36, 1ull << 63};
constexpr double kNumbers[] = {0,
                               -0.0,
                               1,
                               -1,
                               0.5,
                               2,
                               1.5,
                               1e-8,
                               1e9,
                               1e300,
                               1e-300,
                               std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()};

template <class T, std::size_t count>
T edge(Choices& choices, const T (&list)[count]) {
    return list[choices.below(count)];
}

/// Resizes small data to the length that the extents require.
void fit(solver::RecordedValue& value) {
    const bool has_data = value.kind != ValueKind::input && value.kind != ValueKind::result;
    if (!has_data) {
        value.data.clear();
    } else if (kernels::check_dims(value.dims)) {
        const std::uint64_t elements = kernels::geometry(value.dims).elements();
        if (elements <= 1u << 16) value.data.resize(elements * kernels::size_of(value.dtype));
    }
    if (value.kind == ValueKind::constant || !has_data) value.name.clear();
}

void break_value(Recording& recording, Choices& choices) {
    solver::RecordedValue& value = recording.values[choices.number() % recording.values.size()];
    Dims& dims = value.dims;
    switch (choices.below(6)) {
        case 0:
        case 1:
            if (!dims.empty()) dims[choices.below(dims.size())] = edge(choices, kExtents);
            break;
        case 2: dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(choices.below(dims.size() + 1)), 1); break;
        case 3:
            if (!dims.empty()) dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(choices.below(dims.size())));
            break;
        case 4: value.dtype = edge(choices, {DType::f32, DType::i32, DType::boolean}); break;
        default: value.kind = static_cast<ValueKind>(choices.between(1, 6)); break;
    }
    fit(value);
}

/// Replaces an extent by another wherever it occurs, so that shapes that matched still match.
void stretch(Recording& recording, Choices& choices) {
    const Dims& some = recording.values[choices.number() % recording.values.size()].dims;
    if (some.empty()) return;
    const std::uint64_t from = some[choices.below(some.size())], to = edge(choices, kExtents);
    for (solver::RecordedValue& value : recording.values) {
        for (std::uint64_t& extent : value.dims)
            if (extent == from) extent = to;
        fit(value);
    }
}

void break_argument(Argument& argument, std::size_t values, Choices& choices) {
    const auto value = [&] { return static_cast<std::uint32_t>(choices.number() % (values + 1)); };
    if (choices.below(4) == 0) {
        argument = {};
        argument.kind = static_cast<Kind>(choices.between(1, 9));
    }
    switch (argument.kind) {
        case Kind::value: argument.values = {value()}; break;
        case Kind::values:
            if (choices.flip() || argument.values.empty())
                argument.values.push_back(value());
            else if (choices.flip())
                argument.values.pop_back();
            else
                argument.values[choices.below(argument.values.size())] = value();
            break;
        case Kind::integer: argument.integers = {edge(choices, kIntegers)}; break;
        case Kind::boolean: argument.integers = {choices.flip() ? 1 : 0}; break;
        case Kind::integers:
            if (choices.below(3) == 0 || argument.integers.empty())
                argument.integers.push_back(edge(choices, kIntegers));
            else if (choices.below(3) == 0)
                argument.integers.pop_back();
            else
                argument.integers[choices.below(argument.integers.size())] = edge(choices, kIntegers);
            break;
        case Kind::number: argument.number = edge(choices, kNumbers); break;
        case Kind::numbers: argument.numbers.push_back(edge(choices, kNumbers)); break;
        case Kind::text: argument.text = choices.flip() ? "same" : "tanh"; break;
        case Kind::none: break;
    }
}

void break_op(Recording& recording, Choices& choices) {
    if (recording.ops.empty()) return;
    const std::size_t at = choices.number() % recording.ops.size();
    RecordedOp& op = recording.ops[at];
    const auto value = [&] { return static_cast<std::uint32_t>(choices.number() % (recording.values.size() + 1)); };
    switch (choices.below(11)) {
        case 0:
        case 1:
        case 2:
        case 3:
            if (op.arguments.empty()) break;
            break_argument(op.arguments[choices.below(op.arguments.size())], recording.values.size(), choices);
            break;
        case 4:
            if (!op.arguments.empty()) op.arguments.pop_back();
            break;
        case 5:
            op.arguments.emplace_back();
            break_argument(op.arguments.back(), recording.values.size(), choices);
            break;
        case 6: {
            const std::string& line = testing::recorded_calls()[choices.number() % testing::recorded_calls().size()];
            op.name = "aten::" + line.substr(0, line.find(' '));
            break;
        }
        case 7:
            if (!op.results.empty()) op.results.pop_back();
            break;
        case 8: op.results.push_back(value()); break;
        case 9:
            op.detached = choices.flip();
            op.overwritten = choices.flip() ? static_cast<std::uint32_t>(choices.below(4)) : solver::kNoArgument;
            break;
        default: recording.ops.erase(recording.ops.begin() + static_cast<std::ptrdiff_t>(at)); break;
    }
}

void break_recording(Recording& recording, Choices& choices) {
    const auto value = [&] { return static_cast<std::uint32_t>(choices.number() % recording.values.size()); };
    switch (choices.below(16)) {
        case 0: recording.output = value(); break;
        case 1: recording.updates.emplace_back(value(), value()); break;
        case 2:
        case 3:
        case 4: stretch(recording, choices); break;
        case 5:
        case 6:
        case 7:
        case 8: break_value(recording, choices); break;
        default: break_op(recording, choices); break;
    }
}

solver::RecordedModel broken(Choices& choices) {
    std::vector<std::string> lines;
    for (std::size_t i = choices.between(1, 3); i > 0; --i)
        lines.push_back(testing::recorded_calls()[choices.number() % testing::recorded_calls().size()]);
    solver::RecordedModel out;
    out.train = testing::recording_of(lines);
    for (std::size_t i = choices.below(5); i > 0; --i) break_recording(out.train, choices);
    out.eval = out.train;
    if (choices.below(4) == 0) break_recording(out.eval, choices);
    out.eval.updates.clear();
    return out;
}

/// Compiles with samples and targets of the recorded length.
void compile(const solver::RecordedModel& model, LossKind loss) {
    Dims in, out = model.train.values[model.train.output].dims;
    solver::MappingOptions options;
    options.x_dtype = DType::f32;
    for (const solver::RecordedValue& value : model.train.values) {
        if (value.kind != ValueKind::input) continue;
        in = value.dims;
        options.tokens = value.dtype == DType::i32;
        if (options.tokens) options.x_dtype = DType::i32;
    }
    options.loss = loss;
    options.y_dtype = loss == LossKind::cross_entropy ? DType::i32 : DType::f32;
    kernels::TrainingSpec training;
    training.loss = loss;
    training.batch = in.empty() ? 4 : in[0];
    training.samples = training.batch;
    training.steps = 2;
    if (!in.empty()) options.sample = {in.begin() + 1, in.end()};
    if (loss == LossKind::cross_entropy && !out.empty()) {
        options.classes = out.back();
        out.pop_back();
    }
    if (!out.empty()) options.target = {out.begin() + 1, out.end()};
    const auto mapped = solver::map_model(model, options);
    if (!mapped) return require(!mapped.error().message.empty(), "a refusal says why");
    std::uint64_t eval_batch = training.batch;
    for (const solver::RecordedValue& value : model.eval.values)
        if (value.kind == ValueKind::input && !value.dims.empty()) eval_batch = value.dims[0];
    const auto programs = build_training(mapped->source, training, eval_batch, eval_batch);
    if (!programs) return require(!programs.error().message.empty(), "a refusal says why");
    require(kernels::check(programs->train).has_value(), "what is built passes the checker");
    require(kernels::check(programs->eval).has_value(), "what is built passes the checker");
}

}  // namespace

std::vector<Bytes> seeds() {
    std::vector<Bytes> out;
    for (std::uint64_t i = 0; i < 64; ++i) out.push_back(random_choices(kBroken, i, 96));
    Writer encoded;
    const Recording recording = testing::recording_of({"conv2d 2x3x7x6 4x3x3x2 4 (2,1) (1,0) (1,1) =1 -> 2x4x4x5"});
    encoded.u8(kEncoded).u8(0).raw(solver::encode({recording, recording}));
    out.push_back(std::move(encoded).take());
    return out;
}

void run(View input) {
    Choices choices(input);
    const bool is_encoded = choices.byte() == kEncoded;
    const auto loss = edge(choices, {LossKind::mse, LossKind::cross_entropy, LossKind::bce});
    if (is_encoded) {
        const View bytes = choices.rest();
        const auto model = solver::decode_recording(bytes);
        if (!model) return require(!model.error().message.empty(), "a refusal says why");
        const Bytes again = solver::encode(*model);
        require(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()), "one recording has one encoding");
        return compile(*model, loss);
    }
    const auto model = solver::decode_recording(solver::encode(broken(choices)));
    if (model) compile(*model, loss);
}

}  // namespace retrace::fuzz
