// SPDX-License-Identifier: MIT
#include "solver/import/recording.hpp"

#include <bit>
#include <string_view>

#include "kernels/program/limits.hpp"
#include "merkle/base/codec.hpp"

namespace retrace::solver {
namespace {

using kernels::DType;

constexpr std::string_view kMagic = "RTM2";
constexpr std::size_t kListMax = 1u << 16, kTextMax = 4096;

void write(Writer& out, const RecordedValue& value) {
    out.u8(static_cast<std::uint8_t>(value.kind)).u8(static_cast<std::uint8_t>(value.dtype));
    out.u8(static_cast<std::uint8_t>(value.dims.size()));
    for (const std::uint64_t extent : value.dims) out.u64(extent);
    out.text(value.name).u32(static_cast<std::uint32_t>(value.also.size()));
    for (const std::string& name : value.also) out.text(name);
    out.u64(value.data.size()).raw(value.data);
}

void write(Writer& out, const RecordedOp& op) {
    out.text(op.name)
        .text(op.where)
        .boolean(op.detached)
        .u32(op.overwritten)
        .u32(static_cast<std::uint32_t>(op.arguments.size()));
    for (const Argument& argument : op.arguments) {
        out.u8(static_cast<std::uint8_t>(argument.kind)).u32(static_cast<std::uint32_t>(argument.values.size()));
        for (const std::uint32_t value : argument.values) out.u32(value);
        out.u32(static_cast<std::uint32_t>(argument.integers.size()));
        for (const std::int64_t integer : argument.integers) out.u64(static_cast<std::uint64_t>(integer));
        out.u32(static_cast<std::uint32_t>(argument.numbers.size()));
        for (const double number : argument.numbers) out.u64(std::bit_cast<std::uint64_t>(number));
        out.u64(std::bit_cast<std::uint64_t>(argument.number)).text(argument.text);
    }
    out.u32(static_cast<std::uint32_t>(op.results.size()));
    for (const std::uint32_t result : op.results) out.u32(result);
}

void write(Writer& out, const Recording& recording) {
    out.u32(static_cast<std::uint32_t>(recording.values.size()));
    for (const RecordedValue& value : recording.values) write(out, value);
    out.u32(static_cast<std::uint32_t>(recording.ops.size()));
    for (const RecordedOp& op : recording.ops) write(out, op);
    out.u32(recording.output).u32(static_cast<std::uint32_t>(recording.updates.size()));
    for (const auto& [buffer, next] : recording.updates) out.u32(buffer).u32(next);
}

std::vector<std::uint32_t> read_numbers(Reader& in) {
    std::vector<std::uint32_t> out(in.count(kListMax, 4));
    for (std::uint32_t& number : out) number = in.u32();
    return out;
}

RecordedValue read_value(Reader& in) {
    RecordedValue out;
    out.kind = static_cast<ValueKind>(in.enumerated(1, 6));
    out.dtype = static_cast<DType>(in.enumerated(1, 6));
    out.dims.resize(in.enumerated(0, kernels::kRankMax));
    for (std::uint64_t& extent : out.dims) extent = in.u64();
    out.name = in.text(kTextMax);
    out.also.resize(in.count(kListMax, 4));
    for (std::string& name : out.also) name = in.text(kTextMax);
    const std::uint64_t size = in.u64();
    if (size > in.left()) {
        in.fail(CodecError::truncated);
    } else {
        const View data = in.raw(size);
        out.data.assign(data.begin(), data.end());
    }
    return out;
}

RecordedOp read_op(Reader& in) {
    RecordedOp out;
    out.name = in.text(kTextMax);
    out.where = in.text(kTextMax);
    out.detached = in.boolean();
    out.overwritten = in.u32();
    out.arguments.resize(in.count(kListMax, 21));
    for (Argument& argument : out.arguments) {
        argument.kind = static_cast<Argument::Kind>(in.enumerated(1, 9));
        argument.values = read_numbers(in);
        argument.integers.resize(in.count(kListMax, 8));
        for (std::int64_t& integer : argument.integers) integer = static_cast<std::int64_t>(in.u64());
        argument.numbers.resize(in.count(kListMax, 8));
        for (double& number : argument.numbers) number = std::bit_cast<double>(in.u64());
        argument.number = std::bit_cast<double>(in.u64());
        argument.text = in.text(kTextMax);
    }
    out.results = read_numbers(in);
    return out;
}

Recording read_recording(Reader& in) {
    Recording out;
    out.values.resize(in.count(kRecordedValuesMax, 19));
    for (RecordedValue& value : out.values) value = read_value(in);
    out.ops.resize(in.count(kRecordedOpsMax, 21));
    for (RecordedOp& op : out.ops) op = read_op(in);
    out.output = in.u32();
    out.updates.resize(in.count(kListMax, 8));
    for (auto& [buffer, next] : out.updates) {
        buffer = in.u32();
        next = in.u32();
    }
    return out;
}

}  // namespace

Bytes encode(const RecordedModel& model) {
    Writer out;
    out.raw(view(kMagic));
    write(out, model.train);
    write(out, model.eval);
    return std::move(out).take();
}

Result<RecordedModel> decode_recording(View bytes) {
    Reader in(bytes);
    const View magic = in.raw(kMagic.size());
    if (!in.ok() || to_hex(magic) != to_hex(view(kMagic))) return error("this is no recorded model");
    RecordedModel out;
    out.train = read_recording(in);
    out.eval = read_recording(in);
    if (const auto end = in.finish(); !end) return error("the recorded model is " + std::string(slug(end.error())));
    RETRACE_CHECK(check_recording(out));
    return out;
}

}  // namespace retrace::solver
