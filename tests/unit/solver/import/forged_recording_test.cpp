// SPDX-License-Identifier: MIT
// Recordings as a compromised process might send them: every well-formed call becomes a program, and recordings that
// PyTorch would never make are refused by name before anything is built from them.
#include <gmock/gmock.h>

#include "kernels/program/codec.hpp"
#include "solver/import/mapping.hpp"
#include "tests/fuzz/solver/recorded_calls.hpp"

namespace retrace::solver {
namespace {

using kernels::Dims;
using kernels::DType;
using ::testing::HasSubstr;
using Kind = Argument::Kind;

std::string compiled(const RecordedModel& model) {
    MappingOptions options;
    options.x_dtype = options.y_dtype = DType::f32;
    options.sample = options.target = {3};
    options.loss = kernels::LossKind::mse;
    kernels::TrainingSpec training;
    training.loss = options.loss;
    training.samples = training.batch = 4;
    training.steps = 2;
    const auto mapped = map_model(model, options);
    if (!mapped) return mapped.error().message;
    const auto programs = build_training(mapped->source, training, 4, 4);
    return programs ? "compiled" : programs.error().message;
}
std::string compiled(const Recording& recording) { return compiled(RecordedModel{recording, recording}); }
Recording one(const std::string& line) { return retrace::testing::recording_of({line}); }

/// Some calls use no trained parameter, so a call that does is added.
Recording beside(const std::string& line) { return retrace::testing::recording_of({"tanh 2x3 -> 2x3", line}); }

TEST(ForgedRecording, CallsInFormBecomePrograms) {
    for (const std::string& line : retrace::testing::recorded_calls())
        EXPECT_EQ(compiled(beside(line)), "compiled") << line;
}

TEST(ForgedRecording, CallsWithoutOneOfTheirArgumentsOrResultsEndNothing) {
    for (const std::string& line : retrace::testing::recorded_calls()) {
        const Recording whole = beside(line);
        for (std::size_t at = 0; at < whole.ops.size(); ++at) {
            for (std::size_t i = 0; i < whole.ops[at].arguments.size(); ++i) {
                Recording less = whole;
                less.ops[at].arguments[i] = {};
                EXPECT_FALSE(compiled(less).empty());
                less.ops[at].arguments.resize(i);
                EXPECT_FALSE(compiled(less).empty());
            }
            Recording less = whole;
            less.ops[at].results.pop_back();
            EXPECT_NE(compiled(less), "compiled") << line;
        }
    }
}

/// The call and its error message.
using Forgery = std::pair<const char*, const char*>;

TEST(ForgedRecording, CallsThatDoNotFitAreRefusedByName) {
    for (const auto& [line, why] : std::vector<Forgery>{
             {"linear 2x5x3 4x2 4 -> 2x5x4", "aten::linear in op: not as PyTorch calls it: extents"},
             {"linear f 4x3 4 -> 4", "aten::linear"},
             {"matmul 2x3 4x5 -> 2x5", "extents"},
             {"add 2x3 4 -> 2x3", "extents"},
             {"permute 2x3x4 (0,1,7) -> 2x3x4", "permutation"},
             {"permute 2x3x4 (0,1,1) -> 2x3x3", "permutation"},
             {"expand 2x3x4 (3,4) ?0 -> 3x4", "extents"},
             {"slice 2x5 =1 =3 =9 =1 -> 2x4", "extents"},
             {"slice 2x5 =1 =0 =5 =9223372036854775807 -> 2x5", "extents"},
             {"select 2x3 =1 =3 -> 2", "element"},
             {"select f =0 =0 -> f", "extents"},
             {"split 2x5 =2 =1 -> 2x3 2x3", "extents"},
             {"unbind 2x3 =1 -> 2 2 2 2", "extents"},
             {"cat [] =0 -> 2", "extents"},
             {"stack [2x3;2x2] =0 -> 2x2x3", "extents"},
             {"glu 3 =0 -> 1", "extents"},
             {"amax 2x3 (1) ?0 -> 3", "extents"},
             {"max 2x3 =1 ?0 -> 2", "extents"},
             {"repeat 2x3 (2) -> 2x3", "extents"},
             {"repeat_interleave 2x3 =-1 =1 _ -> 2x3", "extents"},
             {"flip 2x3 (2) -> 2x3", "axis"},
             {"roll 2x3 () () -> 2x3", "extents"},
             {"constant_pad_nd 2 (1,1,1,1) ~0 -> 4", "extents"},
             {"reflection_pad1d 2x3x4 (4,0) -> 2x3x8", "out of range"},
             {"pixel_shuffle 2x8x2x3 =2 -> 2x2x4x5", "extents"},
             {"prelu 4 4 -> 4", "extents"},
             {"conv2d 2x3x7x6 4x3x9x2 _ (1,1) (0,0) (1,1) =1 -> 2x4x1x5", "extents"},
             {"conv2d 2x3x7x6 4x3x3x2 _ (0,1) (0,0) (1,1) =1 -> 2x4x5x5", "out of range"},
             {"conv2d 2x3x7x6 4x3x3x2 _ (1,1) (0,0) (1,1) =0 -> 2x4x5x5", "out of range"},
             {"conv2d 2x3x7x6 4x3x3x2 5 (1,1) (0,0) (1,1) =1 -> 2x4x5x5", "extents"},
             {"conv2d 2x3x1x7x6 4x3x1x3x2 _ (1,1) \"same\" (1,1) =1 -> 2x4x1x7x6", "extents"},
             {"max_pool2d 2x3x6x7 (3,3) () (0,0) (1,1) ?0 -> 2x3x4x4", "extents"},
             {"max_pool2d 2x3x6x7 (0,1) () (0,0) (1,1) ?0 -> 2x3x6x7", "out of range"},
             {"adaptive_avg_pool2d 2x3x6x8 (3) -> 2x3x3", "extents"},
             {"upsample_nearest1d 2x3x4 (9) ~1e-300 -> 2x3x9", "out of range"},
             {"batch_norm 4x3x2 2 3 _ _ ?1 ~0.1 ~1e-5 ?0 -> 4x3x2", "extents"},
             {"layer_norm 2x3x4 (0) _ _ ~1e-5 ?0 -> 2x3x4", "extents"},
             {"group_norm 2x6x4 =0 6 6 ~1e-5 ?0 -> 2x6x4", "extents"},
             {"embedding 5 i:2x4 =1 ?0 ?0 -> 2x4", "extents"},
             {"dropout 2x3 ~nan ?1 -> 2x3", "out of range"},
             {"scaled_dot_product_attention 2x3x4x5 2x3x6x5 2x3x7x7 _ ~0 ?0 _ -> 2x3x4x7", "extents"},
             {"lstm 3x2x4 [1x2x5;1x2x5] [20x4;20x4] ?0 =1 ~0 ?1 ?0 ?0 -> 3x2x5 1x2x5 1x2x5", "extents"},
             {"lstm 3x2x4 [1x2x5;1x2x5] [] ?0 =4611686018427387904 ~0 ?1 ?0 ?0 -> 3x2x5 1x2x5 1x2x5", "out of range"},
             {"gru_cell 2x4 2x5 15x4 14x5 15 15 -> 2x5", "extents"},
             {"tanh 0x3 -> 0x3", "without elements"}}) {
        EXPECT_THAT(compiled(beside(line)), HasSubstr(why)) << line;
    }
}

TEST(ForgedRecording, WhatWouldFillTheMemoryIsRefused) {
    for (const auto& [line, why] : std::vector<Forgery>{
             {"ones_like 1 -> i:1048576x1024", "more constants"},
             {"new_full 1 (1) =1 -> b:2147483647", "more constants"},
             {"upsample_linear1d 1x1x1 (2147483647) ?1 _ -> 1x1x2147483647", "more constants"},
             {"expand 65536x1 (1) ?0 -> 65536x2147483647", "2^36"},
             {"conv2d 1x1x1x1 1x1x65x65 _ (1,1) (4096,4096) (63,63) =1 -> 1x1x4161x4161", "on the way"}}) {
        EXPECT_THAT(compiled(beside(line)), HasSubstr(why)) << line;
    }
    // A list that names one tensor many times takes little space in the file.
    Recording many = one("gru 512x1x1 1x1x1 [3x1;3x1] ?0 =1 ~0 ?1 ?0 ?0 -> 512x1x1 1x1x1");
    for (RecordedOp& op : many.ops) {
        if (op.name != "aten::gru") continue;
        Argument& weights = op.arguments[2];
        const std::vector<std::uint32_t> layer = weights.values;
        while (weights.values.size() < 4096) weights.values.insert(weights.values.end(), layer.begin(), layer.end());
        op.arguments[4].integers = {2048};
        many.values[op.arguments[1].values[0]].dims = {2048, 1, 1};
        many.values[op.arguments[1].values[0]].data.resize(4 * 2048);
        many.values[op.results[1]].dims = {2048, 1, 1};
    }
    EXPECT_THAT(compiled(many), HasSubstr("more ops"));
}

/// A violation in a recording of one tanh: 0 is the input, 1 a parameter, 2 its tanh, then a sum and x + sum.
struct Breach {
    const char* name;
    void (*make)(Recording& recording);
    const char* why;
};

TEST(ForgedRecording, EachRuleOfARecordingIsAsked) {
    const std::vector<Breach> breaches{
        {"cycle", [](Recording& r) { r.ops[0].arguments[0].values = {2}; }, "reads a value that does not exist"},
        {"later", [](Recording& r) { std::swap(r.ops[0], r.ops[1]); }, "reads a value that does not exist"},
        {"twice", [](Recording& r) { r.ops[1].results = {2}; }, "there before"},
        {"over a parameter", [](Recording& r) { r.ops[0].results = {1}; }, "there before"},
        {"nothing made", [](Recording& r) { r.ops.clear(); }, "output"},
        {"two inputs", [](Recording& r) { r.values.push_back(r.values[0]); }, "one input"},
        {"data of a result", [](Recording& r) { r.values[2].data.resize(24); }, "another length"},
        {"long axis", [](Recording& r) { r.values[2].dims = {1ull << 31}; }, "axis"},
        {"no tensor", [](Recording& r) { r.ops[0].arguments[0].values.clear(); }, "not of its kind"},
        {"two tensors",
         [](Recording& r) {
             r.ops[0].arguments[0].values = {1, 1};
         },
         "not of its kind"},
        {"no number",
         [](Recording& r) {
             r.ops[0].arguments = {{Kind::integer, {}, {}, 0, {}, {}}};
         },
         "of its kind"},
        {"no truth",
         [](Recording& r) {
             r.ops[0].arguments = {{Kind::boolean, {}, {2}, 0, {}, {}}};
         },
         "of its kind"},
        {"trained and updated",
         [](Recording& r) {
             r.updates = {{1, 2}};
         },
         "update"},
        {"overwrites a list",
         [](Recording& r) {
             r.ops[0].arguments[0].kind = Kind::values;
             r.ops[0].overwritten = 0;
         },
         "overwrites"}};
    for (const Breach& breach : breaches) {
        Recording recording = one("tanh 2x3 -> 2x3");
        ASSERT_EQ(compiled(recording), "compiled");
        breach.make(recording);
        EXPECT_THAT(compiled(recording), HasSubstr(breach.why)) << breach.name;
        const auto read = decode_recording(encode({recording, recording}));
        ASSERT_FALSE(read) << breach.name;
        EXPECT_THAT(read.error().message, HasSubstr(breach.why)) << breach.name;
    }
}

TEST(ForgedRecording, BothModesHaveTheSameParametersAndOnlyTrainingChangesBuffers) {
    const Recording train = one("tanh 2x3 -> 2x3");
    Recording eval = train;
    eval.values[1].dims = {3, 2};
    EXPECT_THAT(compiled({train, eval}), HasSubstr("other parameters"));
    eval = train;
    eval.values[1].kind = ValueKind::frozen;
    EXPECT_THAT(compiled({train, eval}), HasSubstr("other parameters"));
    Recording buffer = train;
    buffer.values.push_back({ValueKind::buffer, DType::f32, {2, 3}, "b", {}, Bytes(24)});
    buffer.updates = {{static_cast<std::uint32_t>(buffer.values.size() - 1), 2}};
    Recording still = buffer;
    still.updates.clear();
    EXPECT_EQ(compiled({buffer, still}), "compiled");
    EXPECT_THAT(compiled({buffer, buffer}), HasSubstr("when it is evaluated"));
}

TEST(ForgedRecording, AnInputThatIsNoBatchOfSamplesIsRefused) {
    Recording recording = one("tanh 2x3 -> 2x3");
    for (RecordedValue& value : recording.values)
        if (value.dims == Dims{4, 3}) value.dims = {5, 3};
    EXPECT_THAT(compiled(recording), HasSubstr("batch of samples"));
}

TEST(ForgedRecording, NoParameterIsNamedLikeAMomentOfAnother) {
    Recording recording = retrace::testing::recording_of({"tanh 2x3 -> 2x3", "tanh 2x3 -> 2x3"});
    for (RecordedValue& value : recording.values)
        if (value.kind == ValueKind::parameter) value.name = value.name == recording.values[1].name ? "w" : "w.m";
    EXPECT_THAT(compiled(recording), HasSubstr("w.m"));
}

}  // namespace
}  // namespace retrace::solver
