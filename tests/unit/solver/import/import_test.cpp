// SPDX-License-Identifier: MIT
// Recordings made by hand: which values become state, which are refused, and that damaged ones are not read.
#include <gmock/gmock.h>

#include "solver/import/mapping.hpp"
#include "solver/import/outputs.hpp"

namespace retrace::solver {
namespace {

using kernels::Dims;
using kernels::DType;
using ::testing::AllOf;
using ::testing::HasSubstr;

Argument value(std::uint32_t number) {
    Argument out;
    out.kind = Argument::Kind::value;
    out.values = {number};
    return out;
}

RecordedValue tensor(ValueKind kind, Dims dims, std::string name = {}) {
    RecordedValue out;
    out.kind = kind;
    out.dims = dims;
    out.name = std::move(name);
    if (kind != ValueKind::input && kind != ValueKind::result) out.data = Bytes(4 * kernels::geometry(dims).elements());
    return out;
}

/// x [4, 6] goes through a frozen layer and a trained one, followed by the op `last`.
Recording two_layers(const std::string& last) {
    Recording out;
    out.values = {tensor(ValueKind::frozen, {5, 6}, "base.weight"),
                  tensor(ValueKind::parameter, {3, 5}, "head.weight"),
                  tensor(ValueKind::parameter, {2}, "unused"),
                  tensor(ValueKind::input, {4, 6}),
                  tensor(ValueKind::result, {4, 5}),
                  tensor(ValueKind::result, {4, 3}),
                  tensor(ValueKind::result, {4, 3})};
    out.ops = {{"aten::linear", "base", {value(3), value(0), {}}, {4}, false},
               {"aten::linear", "head", {value(4), value(1), {}}, {5}, false},
               {last, "head", {value(5)}, {6}, false}};
    out.output = 6;
    return out;
}

MappingOptions options() {
    MappingOptions out;
    out.sample = {6};
    out.classes = 3;
    return out;
}

kernels::TrainingSpec training() {
    kernels::TrainingSpec out;
    out.samples = 8;
    out.batch = 4;
    out.steps = 2;
    return out;
}

TEST(Import, FrozenAndUnusedParametersAreStateWithoutMoments) {
    const auto mapped = map_model({two_layers("aten::tanh"), two_layers("aten::tanh")}, options());
    ASSERT_TRUE(mapped);
    EXPECT_EQ(mapped->parameters, 15u);
    EXPECT_EQ(mapped->frozen, 32u);
    EXPECT_EQ(mapped->initial.size(), 3u);
    const auto programs = build_training(mapped->source, training(), 4, 4);
    ASSERT_TRUE(programs) << programs.error().message;
    ASSERT_EQ(programs->train.states, 5u);
    EXPECT_EQ(programs->train.tensors[0].writer, kernels::kNoWriter);
    EXPECT_NE(programs->train.tensors[1].writer, kernels::kNoWriter);
    EXPECT_EQ(programs->train.tensors[2].writer, kernels::kNoWriter);
    EXPECT_EQ(programs->train.tensors[3].name, "head.weight.m");
    EXPECT_TRUE(programs->init.ops.empty());
}

TEST(Import, AnOpWithoutARuleIsRefusedWithItsPlace) {
    const auto mapped = map_model({two_layers("aten::cumsum"), two_layers("aten::cumsum")}, options());
    ASSERT_TRUE(mapped);
    const auto programs = build_training(mapped->source, training(), 4, 4);
    ASSERT_FALSE(programs);
    EXPECT_THAT(programs.error().message, AllOf(HasSubstr("aten::cumsum in head"), HasSubstr("triangular")));
}

TEST(Import, ARuleThatGivesAnotherShapeThanPyTorchDidIsRefused) {
    Recording wrong = two_layers("aten::tanh");
    wrong.values[6].dims = {3, 4};
    const auto programs = build_training(map_model({wrong, wrong}, options())->source, training(), 4, 4);
    ASSERT_FALSE(programs);
    EXPECT_THAT(programs.error().message, HasSubstr("another shape"));
}

TEST(Import, AModelThatIsFrozenHasNothingToTrain) {
    Recording frozen = two_layers("aten::tanh");
    frozen.values[1].kind = ValueKind::frozen;
    EXPECT_FALSE(map_model({frozen, frozen}, options()));
}

TEST(Import, WhatIsUnderNoGradIsNotTrained) {
    Recording detached = two_layers("aten::tanh");
    detached.ops[1].detached = true;
    EXPECT_FALSE(map_model({detached, detached}, options()));
}

/// Autograd does not see in-place writes under no_grad: the gradient is that of the previous value.
TEST(Import, WhatIsOverwrittenUnderNoGradKeepsItsGradient) {
    Recording written = two_layers("aten::tanh");
    written.ops[2].detached = true;
    EXPECT_FALSE(map_model({written, written}, options()));
    written.ops[2].overwritten = 0;
    const auto mapped = map_model({written, written}, options());
    ASSERT_TRUE(mapped) << mapped.error().message;
    EXPECT_EQ(mapped->parameters, 15u);
    const auto programs = build_training(mapped->source, training(), 4, 4);
    ASSERT_TRUE(programs) << programs.error().message;
    EXPECT_NE(programs->train.tensors[1].writer, kernels::kNoWriter);
}

TEST(Import, TheLogitsOfASigmoidAreFoundBehindViewsOnly) {
    const auto bce = [](const Recording& recording) { return logits_of(recording, kernels::LossKind::bce); };
    Recording last = two_layers("aten::sigmoid");
    EXPECT_EQ(*bce(last), 5u);
    EXPECT_EQ(*logits_of(last, kernels::LossKind::cross_entropy), 6u);
    EXPECT_EQ(*bce(two_layers("aten::tanh")), 6u);
    last.values.push_back(tensor(ValueKind::result, {12}));
    last.ops.push_back({"aten::view", "the model", {value(6)}, {7}, false});
    last.output = 7;
    EXPECT_EQ(*bce(last), 5u);
    last.ops.back().name = "aten::clamp";
    const auto refused = bce(last);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, AllOf(HasSubstr("aten::sigmoid in head"), HasSubstr("logits")));
    // A layer follows, so its output is no probability.
    last.ops.back() = {"aten::linear", "the model", {value(6), value(1), {}}, {7}, false};
    EXPECT_EQ(*bce(last), 7u);
}

/// Continues from the output of two layers, value 6: each op reads the named values, or a number where 0 is given.
Recording continued(const std::vector<std::pair<std::string, std::vector<std::uint32_t>>>& ops) {
    Recording out = two_layers("aten::neg");
    for (const auto& [name, reads] : ops) {
        RecordedOp op{name, "head", {}, {static_cast<std::uint32_t>(out.values.size())}, false};
        for (const std::uint32_t read : reads) {
            Argument one{Argument::Kind::number, {}, {}, 1.0, {}, {}};
            op.arguments.push_back(read == 0 ? one : value(read));
        }
        out.ops.push_back(op);
        out.values.push_back(tensor(ValueKind::result, {4, 3}));
    }
    out.output = static_cast<std::uint32_t>(out.values.size() - 1);
    return out;
}

TEST(Import, SigmoidsWrittenByHandAreRefusedUnderBce) {
    const auto bce = [](const Recording& recording) { return logits_of(recording, kernels::LossKind::bce); };
    const auto expect_refused = [&](const Recording& recording, const std::string& name) {
        const auto refused = bce(recording);
        ASSERT_FALSE(refused) << name;
        EXPECT_THAT(refused.error().message, AllOf(HasSubstr(name + " in head"), HasSubstr("torch.sigmoid")));
        EXPECT_TRUE(logits_of(recording, kernels::LossKind::mse));
    };
    // 1 / (1 + exp(-x)), as TorchScript writes it, and with a power.
    expect_refused(
        continued({{"aten::exp", {6}}, {"aten::add", {7, 0}}, {"aten::reciprocal", {8}}, {"aten::mul", {9, 0}}}),
        "aten::exp");
    expect_refused(continued({{"aten::exp", {6}}, {"aten::add", {7, 0}}, {"aten::pow", {8, 0}}}), "aten::exp");
    // exp(x) / (1 + exp(x)), and softmax.
    expect_refused(continued({{"aten::exp", {6}}, {"aten::add", {7, 0}}, {"aten::div", {7, 8}}}), "aten::exp");
    expect_refused(continued({{"aten::exp", {6}}, {"aten::sum", {7}}, {"aten::div", {7, 8}}}), "aten::exp");
    // (1 + tanh(x)) / 2, and exp(log_sigmoid(x)).
    expect_refused(continued({{"aten::tanh", {6}}, {"aten::add", {7, 0}}, {"aten::mul", {8, 0}}}), "aten::tanh");
    expect_refused(continued({{"aten::log_sigmoid", {6}}, {"aten::exp", {7}}}), "aten::log_sigmoid");
}

TEST(Import, LogitsThatNoSigmoidMadeAreKeptUnderBce) {
    const auto bce = [](const Recording& recording) { return logits_of(recording, kernels::LossKind::bce); };
    // A learned scale: the divisor is exp of a parameter, and is not derived from the logits.
    const Recording scaled = continued({{"aten::exp", {1}}, {"aten::div", {6, 7}}});
    EXPECT_EQ(*bce(scaled), 8u);
    // Soft-capped logits, and logits that are divided by a number.
    EXPECT_EQ(*bce(continued({{"aten::div", {6, 0}}, {"aten::tanh", {7}}, {"aten::mul", {8, 0}}})), 9u);
    EXPECT_EQ(*bce(continued({{"aten::exp", {6}}, {"aten::div", {7, 0}}})), 8u);
    // A layer follows.
    EXPECT_EQ(*bce(continued({{"aten::exp", {6}}, {"aten::reciprocal", {7}}, {"aten::linear", {8, 1}}})), 9u);
}

TEST(Recording, NamesThatSteerATerminalAreRefused) {
    const auto refused = [](const RecordedModel& model) {
        const auto read = decode_recording(encode(model));
        return read ? std::string("read") : read.error().message;
    };
    const RecordedModel fine{two_layers("aten::tanh"), two_layers("aten::relu")};
    EXPECT_EQ(refused(fine), "read");
    RecordedModel model = fine;
    model.train.values[1].name = "head\x1b[2J";
    EXPECT_THAT(refused(model), HasSubstr("control character"));
    model = fine;
    model.eval.values[1].also = {"tied\n"};
    EXPECT_THAT(refused(model), HasSubstr("control character"));
    model = fine;
    model.train.ops[0].where = "layer\xc2\x9b";
    EXPECT_THAT(refused(model), HasSubstr("control character"));
    model = fine;
    model.train.ops[0].name = "aten::\x7f";
    EXPECT_THAT(refused(model), HasSubstr("control character"));
    model.train.ops[0].name = "aten::linear";
    model.train.ops[0].where =
        "gr\xc3\xb6\xc3\x9f"
        "e";
    EXPECT_EQ(refused(model), "read");
}

TEST(Recording, ReadsBackAndEveryCutIsRefused) {
    const RecordedModel model{two_layers("aten::tanh"), two_layers("aten::relu")};
    const Bytes bytes = encode(model);
    ASSERT_TRUE(decode_recording(bytes));
    EXPECT_EQ(*decode_recording(bytes), model);
    RecordedModel more = model;
    more.train.ops[2].detached = true;
    more.train.ops[2].overwritten = 0;
    more.train.ops[2].arguments.push_back({Argument::Kind::numbers, {}, {}, 0, {2.0, 0.5}, {}});
    ASSERT_TRUE(decode_recording(encode(more)));
    EXPECT_EQ(*decode_recording(encode(more)), more);
    more.train.ops[2].overwritten = 1;
    EXPECT_FALSE(decode_recording(encode(more)));
    for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_FALSE(decode_recording({bytes.data(), i})) << i;
}

TEST(Recording, NumbersOfValuesThatAreNotThereAreRefused) {
    RecordedModel model{two_layers("aten::tanh"), two_layers("aten::tanh")};
    model.train.ops[0].arguments[0].values[0] = 7;
    EXPECT_FALSE(decode_recording(encode(model)));
    model = {two_layers("aten::tanh"), two_layers("aten::tanh")};
    model.train.values[0].data.pop_back();
    EXPECT_FALSE(decode_recording(encode(model)));
}

}  // namespace
}  // namespace retrace::solver
