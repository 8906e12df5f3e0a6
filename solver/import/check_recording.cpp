// SPDX-License-Identifier: MIT
// Checks a recording before anything is built on it (README, "What a recording is"). The process that recorded
// it read a stranger's file and may have been taken over, so nothing that it says is believed unseen.
#include <set>
#include <string_view>

#include "kernels/program/limits.hpp"
#include "solver/import/recording.hpp"

namespace retrace::solver {
namespace {

using kernels::DType;
using Kind = Argument::Kind;

/// An axis may become an index of int32.
constexpr std::uint64_t kExtentMax = 0x7fffffff;

/// Names come from a stranger's file and are printed: characters that steer a terminal, those of two bytes in UTF-8
/// too, have no place in them.
bool is_printable(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte < 0x20 || byte == 0x7f) return false;
        const bool c1 = byte >= 0x80 && byte < 0xa0 && i > 0 && static_cast<unsigned char>(text[i - 1]) == 0xc2;
        if (c1) return false;
    }
    return true;
}

Status<> check_names(const Recording& recording) {
    constexpr const char* kWhy = "a name in the model holds a control character, which is refused";
    for (const RecordedValue& value : recording.values) {
        if (!is_printable(value.name)) return error(kWhy);
        for (const std::string& name : value.also)
            if (!is_printable(name)) return error(kWhy);
    }
    for (const RecordedOp& op : recording.ops)
        if (!is_printable(op.name) || !is_printable(op.where)) return error(kWhy);
    return Unit{};
}

bool is_named(ValueKind kind) {
    return kind == ValueKind::parameter || kind == ValueKind::frozen || kind == ValueKind::buffer;
}

Status<> check_values(const Recording& recording) {
    std::size_t inputs = 0;
    for (const RecordedValue& value : recording.values) {
        const bool type = value.dtype == DType::f32 || value.dtype == DType::i32 || value.dtype == DType::boolean;
        if (!type) return error("a recorded value has a type that programs do not compute with");
        RETRACE_CHECK(kernels::check_dims(value.dims));
        for (const std::uint64_t extent : value.dims)
            if (extent > kExtentMax) return error("a recorded value has an axis of more than 2^31 - 1");
        const std::uint64_t bytes = kernels::geometry(value.dims).elements() * kernels::size_of(value.dtype);
        const bool has_data = is_named(value.kind) || value.kind == ValueKind::constant;
        if (value.data.size() != (has_data ? bytes : 0)) return error("a recorded tensor has another length");
        if (value.kind == ValueKind::input) ++inputs;
    }
    if (inputs != 1) return error("the recording must have exactly one input");
    return Unit{};
}

/// A kind says which of the fields are in use and how many numbers they hold.
bool is_whole(const Argument& argument) {
    const Kind kind = argument.kind;
    const auto holds = [](std::size_t size, bool one, bool many) { return many || size == (one ? 1u : 0u); };
    const bool integer = kind == Kind::integer || kind == Kind::boolean;
    if (!holds(argument.values.size(), kind == Kind::value, kind == Kind::values)) return false;
    if (!holds(argument.integers.size(), integer, kind == Kind::integers)) return false;
    if (!holds(argument.numbers.size(), false, kind == Kind::numbers)) return false;
    if (kind == Kind::boolean && argument.integers[0] != 0 && argument.integers[0] != 1) return false;
    return (kind == Kind::number || argument.number == 0) && (kind == Kind::text || argument.text.empty());
}

Status<> check_overwriting(const RecordedOp& op) {
    if (op.overwritten == kNoArgument) return Unit{};
    if (op.overwritten >= op.arguments.size() || op.results.size() != 1 ||
        op.arguments[op.overwritten].kind != Kind::value) {
        return error("a recorded op overwrites an argument that does not exist");
    }
    return Unit{};
}

/// In the order of the ops each value is there before it is read, and made once: no cycles, nothing from nowhere.
Status<> check_order(const Recording& recording) {
    std::vector<bool> there(recording.values.size());
    for (std::size_t i = 0; i < there.size(); ++i) there[i] = recording.values[i].kind != ValueKind::result;
    const auto is_there = [&](std::uint32_t value) { return value < there.size() && there[value]; };
    for (const RecordedOp& op : recording.ops) {
        for (const Argument& argument : op.arguments) {
            if (!is_whole(argument)) return error("an argument of a recorded op is not of its kind");
            for (const std::uint32_t value : argument.values)
                if (!is_there(value)) return error("a recorded op reads a value that does not exist");
        }
        RETRACE_CHECK(check_overwriting(op));
        for (const std::uint32_t result : op.results) {
            if (result >= there.size()) return error("a recorded op writes a value that does not exist");
            if (there[result]) return error("a recorded op writes a value that was there before");
            there[result] = true;
        }
    }
    if (!is_there(recording.output)) return error("the recorded output does not exist");
    for (const auto& [buffer, next] : recording.updates)
        if (!is_there(buffer) || !is_there(next)) return error("a recorded update names a value that does not exist");
    return Unit{};
}

Status<> check_updates(const Recording& recording) {
    std::set<std::uint32_t> seen;
    for (const auto& [buffer, next] : recording.updates) {
        const RecordedValue &before = recording.values[buffer], &after = recording.values[next];
        if (before.kind != ValueKind::buffer || after.kind != ValueKind::result || before.dims != after.dims ||
            before.dtype != after.dtype || !seen.insert(buffer).second) {
            return error("a recorded update is none of a buffer by a value like it");
        }
    }
    return Unit{};
}

Status<> check_one(const Recording& recording) {
    if (recording.values.size() > kRecordedValuesMax) return error("the recording has more than 2^20 values");
    if (recording.ops.size() > kRecordedOpsMax) return error("the recording has more than 2^17 ops");
    RETRACE_CHECK(check_names(recording));
    RETRACE_CHECK(check_values(recording));
    RETRACE_CHECK(check_order(recording));
    return check_updates(recording);
}

}  // namespace

Status<> check_recording(const RecordedModel& model) {
    RETRACE_CHECK(check_one(model.train));
    RETRACE_CHECK(check_one(model.eval));
    if (!model.eval.updates.empty()) return error("the model changes buffers when it is evaluated");
    for (std::size_t i = 0; i < model.train.values.size(); ++i) {
        const RecordedValue& value = model.train.values[i];
        if (!is_named(value.kind)) continue;
        const bool there = i < model.eval.values.size();
        if (!there || model.eval.values[i].kind != value.kind || model.eval.values[i].dtype != value.dtype ||
            model.eval.values[i].dims != value.dims || model.eval.values[i].name != value.name) {
            return error("the model has other parameters when it is evaluated");
        }
    }
    return Unit{};
}

}  // namespace retrace::solver
