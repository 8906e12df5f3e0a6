// SPDX-License-Identifier: MIT
// Every supported op: loss and gradients of a model around it equal LibTorch's.
#include "tests/functional/torch/ops.hpp"

#include <gmock/gmock.h>

#include "tests/functional/torch/one_step.hpp"
#include "tests/functional/torch/torch_peer.hpp"

namespace retrace::testing {

void PrintTo(const OpModel& model, std::ostream* out) { *out << model.name; }

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uint64_t kBatch = 3;

kernels::Dims with_batch(const OpModel& model) {
    kernels::Dims out{kBatch};
    for (const std::int64_t extent : model.sample) out.push_back(static_cast<std::uint64_t>(extent));
    return out;
}

class Ops : public ::testing::TestWithParam<OpModel> {};

TEST_P(Ops, LossAndGradientsAreThoseOfLibTorch) {
    const TemporaryFolder folder;
    make_op_model(GetParam(), kBatch, folder / "model.pt");
    const kernels::Tensor x = samples_of(with_batch(GetParam())), y = labels_of(kBatch);
    const auto ours = step_of_ours(folder / "model.pt", x, y, 5);
    ASSERT_TRUE(ours) << ours.error().message;
    expect_step_of_LibTorch(*ours, folder / "model.pt", x, y);
}

INSTANTIATE_TEST_SUITE_P(All, Ops, ::testing::ValuesIn(op_models()), [](const auto& info) { return info.param.name; });

/// Error message with which a model around an op is refused.
std::string refusal(const std::string& body, const std::vector<std::int64_t>& sample) {
    const TemporaryFolder folder;
    const OpModel model{"refused", body, sample, {}};
    make_op_model(model, kBatch, folder / "model.pt");
    const auto ours = step_of_ours(folder / "model.pt", samples_of(with_batch(model)), labels_of(kBatch), 5);
    EXPECT_FALSE(ours) << body;
    return ours ? "" : ours.error().message;
}

TEST(RefusedOps, AreNamedWithTheirModuleAndWhatToUseInstead) {
    const std::vector<std::int64_t> row{12}, image{4, 6, 7};
    EXPECT_THAT(refusal("y = torch.topk(y, 3)[0]", row), HasSubstr("aten::topk in op: sorting; use a maximum"));
    EXPECT_THAT(refusal("y = torch.cumsum(y, 1)", row),
                HasSubstr("aten::cumsum in op: a running sum; use a product with a triangular matrix"));
    EXPECT_THAT(refusal("y = torch.cumprod(y, 1)", row), HasSubstr("aten::cumprod in op: a running product; use"));
    EXPECT_THAT(refusal("y = torch.alpha_dropout(y, 0.5, True)", row),
                HasSubstr("aten::alpha_dropout in op: alpha dropout; use nn.Dropout"));
    EXPECT_THAT(refusal("y = torch.rrelu(y, 0.1, 0.3, True)", row), HasSubstr("a random slope; use nn.LeakyReLU"));
    EXPECT_THAT(refusal("y = y[:, torch.argmax(y, 1)]", row), HasSubstr("aten::index in op: indexing by tensors; use"));
    EXPECT_THAT(refusal("y = torch.max_pool2d(y, [2, 2], [1, 1], [0, 0], [2, 2], False)", image),
                HasSubstr("aten::max_pool2d in op: dilation; use dilation=1"));
    EXPECT_THAT(refusal("y = torch.norm(y, 3, [1])", image), HasSubstr("a norm other than 1 and 2"));
    EXPECT_THAT(refusal("y = torch.clamp(y, torch.zeros_like(y), torch.ones_like(y))", image),
                HasSubstr("use torch.maximum and torch.minimum"));
}

TEST(RefusedOps, WholeNumbersAreNamedWhereFloat32IsMeant) {
    const std::vector<std::int64_t> row{12};
    const std::string whole = "arithmetic on whole numbers; convert to float32 first";
    for (const char* op : {"relu(n)", "clamp_min(n, 3)", "addcmul(n, n, n)", "softmax(n, 0, 6)", "tanh(n)"})
        EXPECT_THAT(refusal("n = torch.argmax(y, 1)\ny = y + torch." + std::string(op) + ".sum()", row),
                    HasSubstr(whole))
            << op;
    EXPECT_THAT(refusal("n = torch.argmax(y, 1)\ny = y + n.masked_fill(n > 3, 1).float().sum()", row),
                HasSubstr("a choice of whole numbers"));
    EXPECT_THAT(refusal("y = torch.where((y > 0).to(0), y, y * 2.0)", row), HasSubstr("a condition that is no bool"));
    for (const char* bound : {"8.5", "10000000000", "float('inf')"})
        EXPECT_THAT(
            refusal("n = torch.argmax(y, 1, True)\ny = torch.where(n < " + std::string(bound) + ", y, y * 2.0)", row),
            HasSubstr("a comparison of whole numbers with a fraction"))
            << bound;
    EXPECT_THAT(refusal("y = y + torch.embedding(y, torch.argmax(y, 0), -1, True, False).sum()", row),
                HasSubstr("use scale_grad_by_freq=False"));
}

TEST(RefusedOps, OtherPrecisionsAreNamed) {
    EXPECT_THAT(refusal("y = y.half().float()", {12}),
                AllOf(HasSubstr("in op computes in Half"), HasSubstr("use float32")));
    EXPECT_THAT(refusal("y = y.to(15).to(6)", {12}), HasSubstr("BFloat16; use float32"));
    EXPECT_THAT(refusal("y = y.double().float()", {12}), HasSubstr("Double; use float32"));
}

TEST(ChannelDropout, DropsWholeChannelsAndScalesTheOthers) {
    const TemporaryFolder folder;
    const OpModel model{"dropout2d", "y = torch.feature_dropout(y, 0.5, self.training)", {16, 2, 3}, {}};
    make_op_model(model, kBatch, folder / "model.pt");
    const auto ours = step_of_ours(folder / "model.pt", samples_of(with_batch(model)), labels_of(kBatch), 5);
    ASSERT_TRUE(ours) << ours.error().message;
    EXPECT_NE(ours->loss, ours->eval_loss);
    // A channel that was dropped in all samples of the batch has no gradient at all; otherwise all of its elements have
    // one.
    const std::vector<float>& gradient = ours->gradients.at("shift");
    std::size_t dropped = 0;
    for (std::size_t channel = 0; channel < 16; ++channel) {
        std::size_t zeros = 0;
        for (std::size_t i = 0; i < 6; ++i) zeros += gradient[channel * 6 + i] == 0.0f ? 1 : 0;
        EXPECT_TRUE(zeros == 0 || zeros == 6) << "channel " << channel << ": " << zeros;
        dropped += zeros == 6 ? 1 : 0;
    }
    EXPECT_LT(dropped, 16u);
}

}  // namespace
}  // namespace retrace::testing
