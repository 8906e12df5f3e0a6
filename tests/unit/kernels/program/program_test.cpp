// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>

#include "kernels/builder/compose.hpp"
#include "kernels/commit/commitment.hpp"
#include "kernels/program/codec.hpp"
#include "kernels/program/limits.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::kernels {
namespace {

using ::testing::HasSubstr;

/// w ← w + x·w with x a constant, and the metric 1.
Program small_program() {
    Graph g;
    const Value w = g.state("w", DType::f32, {2, 2});
    const Value x = g.constant(DType::f32, {2, 2}, Bytes(16, 0));
    g.dataset("d", DType::u8, {7});
    g.set_next(w, add(g, w, matmul(g, x, w, Precision::i8x2)));
    g.set_metric(neg(g, g.scalar(-1.0f)), "one");
    return *g.build();
}

std::string refusal(const Program& program, const Limits& limits = {}) {
    const Status<> status = check(program, limits);
    return status ? "accepted" : status.error().message;
}

TEST(ProgramCodec, AProgramHasOneEncoding) {
    const Program program = small_program();
    const Bytes bytes = encode(program);
    const Result<Program> decoded = decode_program(bytes);
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(*decoded, program);
    EXPECT_EQ(encode(*decoded), bytes);
    for (const OpRecord& record : program.ops) EXPECT_EQ(*decode_op_record(encode_record(record)), record);
    for (const TensorRecord& record : program.tensors) EXPECT_EQ(*decode_tensor_record(encode_record(record)), record);
}

TEST(ProgramCodec, EveryTruncationAndTrailingByteIsRefused) {
    Bytes bytes = encode(small_program());
    for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode_program(View(bytes).first(size)));
    bytes.push_back(0);
    EXPECT_THAT(decode_program(bytes).error().message, HasSubstr("trailing"));
}

TEST(ProgramCodec, AFlippedBitIsRefusedOrAnotherProgram) {
    const Program program = small_program();
    const Bytes bytes = encode(program);
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        Bytes flipped = bytes;
        flipped[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
        const Result<Program> decoded = decode_program(flipped);
        if (!decoded) continue;
        EXPECT_NE(*decoded, program) << bit;
        EXPECT_EQ(encode(*decoded), flipped) << bit;
        EXPECT_NE(CommittedProgram(*decoded).root(), CommittedProgram(program).root()) << bit;
    }
}

TEST(ProgramCodec, CountsOverTheLimitsAreRefusedBeforeAnythingIsRead) {
    Writer out;
    out.raw(view("RTP1")).u32(1).u32(0xffffffff).u32(0xffffffff).u32(0).u32(5);
    EXPECT_THAT(decode_program(out.data()).error().message, HasSubstr("tensors"));
    Writer ops;
    ops.raw(view("RTP1")).u32(1).u32(0).u32(0).u32(0).u32(0xffffffff);
    EXPECT_THAT(decode_program(ops.data()).error().message, HasSubstr("ops"));
    Writer few;
    few.raw(view("RTP1")).u32(1).u32(1000000).u32(0).u32(0).u32(0);
    EXPECT_THAT(decode_program(few.data()).error().message, HasSubstr("truncated"));
    EXPECT_THAT(decode_program(view("ELF.")).error().message, HasSubstr("RTP1"));
}

TEST(ProgramCodec, RecordsFromOutsideAreDecodedStrictly) {
    OpRecord op = small_program().ops.front();
    Bytes bytes = encode_record(op);
    bytes.push_back(0);
    EXPECT_FALSE(decode_op_record(bytes));
    op.inputs.assign(kInputsMax + 1, 0);
    EXPECT_THAT(decode_op_record(encode_record(op)).error().message, HasSubstr("too_long"));
    TensorRecord tensor = small_program().tensors.front();
    tensor.dtype = static_cast<DType>(5);
    EXPECT_FALSE(decode_tensor_record(encode_record(tensor)));
    tensor = small_program().tensors.front();
    tensor.dims.assign(kRankMax + 1, 1);
    EXPECT_FALSE(decode_tensor_record(encode_record(tensor)));
}

TEST(ProgramCheck, WhatIsWrongIsNamedWithItsOp) {
    const Program good = small_program();
    ASSERT_EQ(refusal(good), "accepted");
    ASSERT_EQ(good.ops[0].code, OpCode::matmul);
    Program bad = good;
    bad.ops[0].code = static_cast<OpCode>(0x7777);
    EXPECT_THAT(refusal(bad), HasSubstr("op 0 (code 30583): unknown op code"));
    bad = good;
    bad.ops[0].inputs[0] = good.output_of(0);
    EXPECT_THAT(refusal(bad), HasSubstr("op 0 (matmul): input is not an earlier tensor"));
    bad = good;
    bad.ops[0].attributes[0] = 9;
    EXPECT_THAT(refusal(bad), HasSubstr("op 0 (matmul): unknown precision"));
    bad = good;
    bad.tensors[good.output_of(0)].dims = {2, 3};
    EXPECT_THAT(refusal(bad), HasSubstr("op 0 (matmul): the output is 2x3, not 2x2"));
    bad = good;
    bad.ops[0].stream = "noise";
    EXPECT_THAT(refusal(bad), HasSubstr("op 0 (matmul): has no random stream"));
    bad = good;
    bad.ops[0].inputs.pop_back();
    EXPECT_THAT(refusal(bad), HasSubstr("op 0 (matmul): takes 2 inputs, not 1"));
}

TEST(ProgramCheck, WhatIsWrongIsNamedWithItsTensor) {
    const Program good = small_program();
    Program bad = good;
    bad.tensors[0].writer = 99;
    EXPECT_THAT(refusal(bad), HasSubstr("tensor 0 (w): writer is not an op"));
    bad = good;
    bad.tensors[0].dims = {4};
    EXPECT_THAT(refusal(bad), HasSubstr("tensor 0 (w): the writer's output has another dtype or shape"));
    bad = good;
    bad.tensors[1].writer = 0;
    EXPECT_THAT(refusal(bad), HasSubstr("only a state tensor has a writer"));
    bad = good;
    bad.tensors[1].kind = TensorKind::data;
    EXPECT_THAT(refusal(bad), HasSubstr("tensor 1: kind out of order"));
    bad = good;
    bad.constant_data[0].data.pop_back();
    EXPECT_THAT(refusal(bad), HasSubstr("tensor 1: constant of another length"));
    bad = good;
    bad.tensors[3].name = std::string(kNameMax + 1, 'x');
    EXPECT_THAT(refusal(bad), HasSubstr("name too long"));
    bad = good;
    bad.states = 2;
    EXPECT_THAT(refusal(bad), HasSubstr("counts"));
}

TEST(ProgramCheck, NoTwoOpsDrawChaChaWordsOfOneNumber) {
    Graph g;
    const Value key = g.state("key", DType::i32, {8}), a = g.state("a", DType::i32, {4}),
                b = g.state("b", DType::i32, {4});
    g.set_next(a, g.op(OpCode::chacha_bits, {key}, {7}, {DType::i32, {4}}));
    g.set_next(b, g.op(OpCode::chacha_bits, {key}, {8}, {DType::i32, {4}}));
    Program program = *g.build();
    EXPECT_EQ(refusal(program), "accepted");
    program.ops[1].attributes[0] = 7;
    EXPECT_EQ(refusal(program), "op 1 (chacha_bits): has the number of op 0");
}

TEST(ProgramCheck, SizesThatOverflowAreRefused) {
    Program bad = small_program();
    bad.tensors[3].dims = {1ull << 63, 2};
    EXPECT_THAT(refusal(bad), HasSubstr("tensor 3 (d): more than 2^36 elements"));
    Program wide = small_program();
    wide.tensors[4].dims = {1ull << 63, 2};
    EXPECT_THAT(refusal(wide), HasSubstr("tensor 4 of op 0 (matmul): more than 2^36 elements"));
    bad.tensors[3].dims = {1ull << 40, 1ull << 40, 0};  // no elements, but rows that overflow
    EXPECT_THAT(refusal(bad), HasSubstr("more than 2^36 elements"));
    bad.tensors[3].dims = Dims(kRankMax + 1, 1);
    EXPECT_THAT(refusal(bad), HasSubstr("rank"));
}

TEST(ProgramCheck, LimitsNameWhatIsOver) {
    const Program program = small_program();
    Limits limits;
    limits.ops = 1;
    EXPECT_THAT(refusal(program, limits), HasSubstr("ops"));
    limits = {};
    limits.step_cost = 3;
    EXPECT_THAT(refusal(program, limits),
                HasSubstr("op 0 (matmul): costs 8; step cost up to it 8 over the limit of 3"));
    limits = {};
    limits.elements = 3;
    EXPECT_THAT(refusal(program, limits), HasSubstr("elements 4 over the limit of 3"));
    limits = {};
    limits.constant_bytes = 15;
    EXPECT_THAT(refusal(program, limits), HasSubstr("constant bytes"));
    EXPECT_FALSE(decode_program(encode(program), limits));
}

TEST(ProgramRoot, TheHeaderOpensAndItsFactsProve) {
    const CommittedProgram committed(small_program());
    Writer out;
    committed.header().encode_to(out);
    Reader in(out.data());
    EXPECT_EQ(ProgramHeader::decode_from(in), committed.header());
    EXPECT_TRUE(in.finish());
    Writer tagged;
    tagged.u8(5).raw(out.data());
    EXPECT_EQ(committed.root(), merkle::sha256(tagged.data()));

    const std::uint64_t op = 1;
    const merkle::IndexedLeaf leaf{
        op, merkle::indexed_leaf(merkle::Tag::record_leaf, 1, encode_record(committed.program().ops[1]))};
    EXPECT_TRUE(merkle::verify(committed.header().op_tree, committed.header().ops, {{leaf}},
                               committed.op_tree().prove({{op}})));
    ThreadPool pool(1);
    const Hash32 constant = tensor_root(Tensor{DType::f32, {2, 2}, Bytes(16, 0)}, pool);
    EXPECT_EQ(committed.constant_tree().node(0, 0), merkle::indexed_leaf(merkle::Tag::record_leaf, 0, view(constant)));
}

TEST(ProgramRoot, AHeaderWithCountsThatOverflowIsRefused) {
    ProgramHeader header = CommittedProgram(small_program()).header();
    header.states = 0xffffffff;
    Writer out;
    header.encode_to(out);
    Reader in(out.data());
    ProgramHeader::decode_from(in);
    EXPECT_FALSE(in.finish());
}

}  // namespace
}  // namespace retrace::kernels
