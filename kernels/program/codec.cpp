// SPDX-License-Identifier: MIT
#include "kernels/program/codec.hpp"

#include <algorithm>

#include "kernels/program/limits.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint8_t kMagic[4] = {'R', 'T', 'P', '1'};

void write(Writer& out, const OpRecord& record) {
    out.u16(static_cast<std::uint16_t>(record.code));
    out.u32(static_cast<std::uint32_t>(record.inputs.size()));
    for (const std::uint32_t input : record.inputs) out.u32(input);
    out.u32(static_cast<std::uint32_t>(record.attributes.size()));
    for (const std::uint64_t attribute : record.attributes) out.u64(attribute);
    out.text(record.stream);
}

void write(Writer& out, const TensorRecord& record) {
    out.u8(static_cast<std::uint8_t>(record.kind)).u8(static_cast<std::uint8_t>(record.dtype));
    out.u8(static_cast<std::uint8_t>(record.dims.size()));
    for (const std::uint64_t extent : record.dims) out.u64(extent);
    out.u32(record.writer).text(record.name);
}

OpRecord read_op(Reader& in) {
    OpRecord record;
    record.code = static_cast<OpCode>(in.u16());
    record.inputs.resize(in.count(kInputsMax, 4));
    for (std::uint32_t& input : record.inputs) input = in.u32();
    record.attributes.resize(in.count(kAttributesMax, 8));
    for (std::uint64_t& attribute : record.attributes) attribute = in.u64();
    record.stream = in.text(kNameMax);
    return record;
}

TensorRecord read_tensor(Reader& in) {
    TensorRecord record;
    record.kind = static_cast<TensorKind>(in.enumerated(1, 4));
    record.dtype = static_cast<DType>(in.u8());
    if (in.ok() && !is_dtype(record.dtype)) in.fail(CodecError::not_canonical);
    record.dims.resize(in.enumerated(0, kRankMax));
    for (std::uint64_t& extent : record.dims) extent = in.u64();
    record.writer = in.u32();
    record.name = in.text(kNameMax);
    return record;
}

template <class Record>
Bytes encoded(const Record& record) {
    Writer out;
    write(out, record);
    return std::move(out).take();
}

template <class Record>
Result<Record> decoded(View bytes, Record (*read)(Reader&), const char* what) {
    Reader in(bytes);
    Record record = read(in);
    if (const auto status = in.finish(); !status) {
        return error(std::string(what) + " record: " + std::string(slug(status.error())));
    }
    return record;
}

Unexpected<Error> over(const char* what, std::uint64_t found, std::uint64_t limit) {
    return error(std::string("program: ") + what + " " + std::to_string(found) + " over the limit of " +
                 std::to_string(limit));
}

/// The smallest encodings: an op without inputs, attributes and stream; a rank-0 tensor without a name.
constexpr std::size_t kOpBytesMin = 14, kTensorBytesMin = 11, kConstantBytesMin = 4;

}  // namespace

Bytes encode_record(const OpRecord& record) { return encoded(record); }
Bytes encode_record(const TensorRecord& record) { return encoded(record); }
Result<OpRecord> decode_op_record(View bytes) { return decoded<OpRecord>(bytes, read_op, "op"); }
Result<TensorRecord> decode_tensor_record(View bytes) { return decoded<TensorRecord>(bytes, read_tensor, "tensor"); }

Bytes encode(const Program& program) {
    Writer out;
    out.raw(View(kMagic)).u32(program.version);
    out.u32(program.states).u32(program.constants).u32(program.datasets);
    out.u32(static_cast<std::uint32_t>(program.ops.size()));
    for (const TensorRecord& record : program.tensors) write(out, record);
    for (const OpRecord& record : program.ops) write(out, record);
    for (const Constant& constant : program.constant_data) out.bytes(constant.data);
    return std::move(out).take();
}

Result<Program> decode_program(View bytes, const Limits& limits) {
    Reader in(bytes);
    if (!equal(in.raw(sizeof kMagic), View(kMagic))) return error("program: does not begin with RTP1");
    Program program;
    program.version = in.u32();
    if (in.ok() && program.version != 1)
        return error("program: version " + std::to_string(program.version) + " unknown");
    program.states = in.u32();
    program.constants = in.u32();
    program.datasets = in.u32();
    const std::uint32_t ops = in.u32();
    if (!in.ok()) return error("program: truncated");
    if (ops > limits.ops) return over("ops", ops, limits.ops);
    const std::uint64_t tensors =
        std::uint64_t{program.states} + program.constants + program.datasets + std::uint64_t{ops};
    if (tensors > limits.tensors) return over("tensors", tensors, limits.tensors);
    if (tensors * kTensorBytesMin + std::uint64_t{ops} * kOpBytesMin +
            std::uint64_t{program.constants} * kConstantBytesMin >
        in.left()) {
        return error("program: truncated");
    }
    program.tensors.reserve(tensors);
    for (std::uint64_t i = 0; i < tensors && in.ok(); ++i) program.tensors.push_back(read_tensor(in));
    program.ops.reserve(ops);
    for (std::uint32_t i = 0; i < ops && in.ok(); ++i) program.ops.push_back(read_op(in));
    std::uint64_t constant_bytes = 0;
    program.constant_data.reserve(in.ok() ? program.constants : 0);
    for (std::uint32_t i = 0; i < program.constants && in.ok(); ++i) {
        const View data = in.bytes(limits.constant_bytes - std::min(limits.constant_bytes, constant_bytes));
        constant_bytes += data.size();
        program.constant_data.push_back({to_bytes(data)});
    }
    if (const auto status = in.finish(); !status) return error("program: " + std::string(slug(status.error())));
    RETRACE_CHECK(check(program, limits));
    return program;
}

}  // namespace retrace::kernels
