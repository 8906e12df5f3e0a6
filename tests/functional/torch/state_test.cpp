// SPDX-License-Identifier: MIT
// State that a model keeps between two steps is kept by the program too, or the model is refused by name; and no number
// outside the file is read.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "solver/import/mapping.hpp"
#include "solver/sandbox/sandbox.hpp"
#include "solver/torch/torch_model.hpp"
#include "tests/functional/torch/one_step.hpp"
#include "tests/functional/torch/state_peer.hpp"
#include "tests/functional/torch/torch_peer.hpp"

namespace retrace::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t kStateBatch = 4;

kernels::Dims batch_of(const StateModel& model) {
    kernels::Dims out{kStateBatch};
    for (const std::int64_t extent : model.sample) out.push_back(static_cast<std::uint64_t>(extent));
    return out;
}

std::string refusal(const StateModel& model) {
    const TemporaryFolder folder;
    make_state_model(model, folder / "model.pt");
    const auto ours = step_of_ours(folder / "model.pt", samples_of(batch_of(model)), labels_of(kStateBatch), 5);
    EXPECT_FALSE(ours) << model.body;
    return ours ? "" : ours.error().message;
}
std::string refusal_of_ema(const std::string& body) { return refusal({body, {6}, {{"ema", {6}}}}); }

/// Expects the buffers after a step, and the losses of both modes, to equal LibTorch's.
void expect_state_of_LibTorch(const StateModel& model) {
    SCOPED_TRACE(model.body);
    const TemporaryFolder folder;
    make_state_model(model, folder / "model.pt");
    const kernels::Tensor x = samples_of(batch_of(model)), y = labels_of(kStateBatch);
    const auto ours = step_of_ours(folder / "model.pt", x, y, 5);
    ASSERT_TRUE(ours) << ours.error().message;
    expect_step_of_LibTorch(*ours, folder / "model.pt", x, y);
    const std::vector<std::int64_t> sizes(x.dims.begin(), x.dims.end());
    for (const auto& [name, wanted] : buffers_after(folder / "model.pt", sizes, {x.f32(), x.f32() + x.elements()})) {
        for (const solver::NamedTensor& named : ours->after) {
            if (named.name != name) continue;
            EXPECT_NEAR(named.tensor.f32()[0], wanted, 1e-5) << name;
        }
    }
}

TEST(State, RunningStatisticsAndAveragesAreThoseOfLibTorch) {
    const std::string norm =
        "y = torch.batch_norm(y, None, None, self.mean, self.var, self.training, 0.1, 1e-5, False)\n";
    const std::vector<Buffer> statistics{{"mean", {4}}, {"var", {4}}};
    expect_state_of_LibTorch({norm, {4, 3, 3}, statistics});
    expect_state_of_LibTorch({norm + "y = torch.relu(y) + 3.0\n" + norm, {4, 3, 3}, statistics});
    expect_state_of_LibTorch({"for i in range(3):\n    " + norm + "    y = y + 2.0\n", {4, 3, 3}, statistics});
    expect_state_of_LibTorch(
        {"if self.training:\n    self.ema.mul_(0.9).add_(y.detach().mean(0) * 0.1)\n"
         "y = y - self.ema\n",
         {6},
         {{"ema", {6}}}});
}

TEST(State, WhatForwardAssignsIsRefused) {
    const std::string assigned = "forward() assigns or changes ";
    EXPECT_THAT(refusal_of_ema("if self.training:\n    self.ema = self.ema * 0.9\ny = y - self.ema\n"),
                HasSubstr(assigned + "ema"));
    EXPECT_THAT(refusal_of_ema("self.k = self.k + 1\ny = y * float(self.k)\n"), HasSubstr(assigned + "k"));
    EXPECT_THAT(refusal_of_ema("self.list[0].fill_(1.5)\n"), HasSubstr(assigned + "list[]"));
    EXPECT_THAT(refusal_of_ema("self.list.append(torch.zeros([2]))\n"), HasSubstr(assigned + "list"));
}

TEST(State, PartsOfBuffersAndParametersAreRefused) {
    for (const char* body :
         {"self.ema[0:3].mul_(0.5)\n", "self.ema[0] += y.mean()\n", "self.ema.view([2, 3]).mul_(0.5)\n"}) {
        EXPECT_THAT(refusal_of_ema("y = y - self.ema\nif self.training:\n    " + std::string(body)),
                    HasSubstr("forward() changes a part of the buffer ema"))
            << body;
    }
    EXPECT_THAT(refusal_of_ema("self.ema.mul_(0.5)\n"),
                HasSubstr("forward() changes the buffer ema when it evaluates"));
    EXPECT_THAT(refusal_of_ema("self.scale.detach()[0:2].mul_(0.5)\n"), HasSubstr("shares its memory"));
    EXPECT_THAT(refusal_of_ema("z = y * 1.0\nz.detach().mul_(3.0)\ny = z\n"), HasSubstr("shares its memory"));
}

TEST(State, CountersCountUnreadAndAreRefusedWhereTheyAreRead) {
    const std::vector<Buffer> counter{{"n", {}, true}};
    expect_state_of_LibTorch({"if self.training:\n    self.n.add_(1)\n", {6}, counter});
    for (const char* body : {"if self.training:\n    self.n.add_(1)\ny = y / (1.0 + self.n.float())\n",
                             "y = y / (1.0 + self.n.float())\nif self.training:\n    self.n.add_(1)\n",
                             "if self.training:\n    self.n.add_(1)\nelse:\n    y = y / (1.0 + self.n.float())\n"}) {
        EXPECT_THAT(refusal({body, {6}, counter}), HasSubstr("forward() changes n and reads it")) << body;
    }
}

TEST(State, LoopsLongerThanAnyProgramAreRefused) {
    EXPECT_THAT(refusal_of_ema("for i in range(200000):\n    y = y + 1.0\n"),
                HasSubstr("forward() computes more than 131072 ops"));
}

/// Values that the graph passes around autograd, and values that a Python list would turn into constants.
TEST(State, WhatTheRecorderCannotSeeIsRefused) {
    EXPECT_THAT(refusal_of_ema("y = y + torch.relu(y).data\n"), HasSubstr("prim::data"));
    EXPECT_THAT(refusal_of_ema("z = y * 1.0\nz.set_data(y * 3.0)\ny = z\n"), HasSubstr("aten::set_data"));
    EXPECT_THAT(refusal_of_ema("l : List[float] = y.mean([1]).tolist()\ny = y * l[0]\n"), HasSubstr("prim::tolist"));
    EXPECT_THAT(refusal_of_ema("y = torch._reshape_alias(y, [4, 6], [6, 1])\n"), HasSubstr("aten::_reshape_alias"));
    for (const char* resized : {"resize_([4, 60])", "resize_as_(torch.cat([y, y]))"})
        EXPECT_THAT(refusal_of_ema("z = torch.zeros([4, 6])." + std::string(resized) + "\ny = y + z[0, 0]\n"),
                    HasSubstr("aten::resize_"));
}

TEST(LyingFiles, TensorsThatReachBeyondTheFileAreRefusedBeforeTheyAreRead) {
    for (const char* how : {"strides", "overflow", "listed", "short", "class"}) {
        SCOPED_TRACE(how);
        const TemporaryFolder folder;
        make_lying_model(how, folder / "model.pt");
        std::ifstream file(folder / "model.pt", std::ios::binary);
        const auto recorded = solver::record_model(file, {false, {4, 6}}, {false, {4, 6}});
        ASSERT_FALSE(recorded);
        EXPECT_THAT(recorded.error().message, HasSubstr(how == std::string("class") ? "torch.classes" : "corrupt"));
    }
}

TEST(LyingFiles, WhatIsNestedDeeperThanAStackIsRefused) {
    const TemporaryFolder folder;
    make_lying_model("deep", folder / "model.pt");
    std::ifstream file(folder / "model.pt", std::ios::binary);
    const auto recorded = solver::record_model(file, {false, {4, 6}}, {false, {4, 6}});
    ASSERT_FALSE(recorded);
    EXPECT_THAT(recorded.error().message, HasSubstr("nested deeper than 512 levels"));
}

/// A model with an endless loop is limited to twenty minutes of processor time, to a part of the memory and to reduced
/// rights, and ends with its caller.
TEST(LyingFiles, RecordingHasLimitsAndRunsInASandbox) {
    const TemporaryFolder folder;
    make_state_model({"i = 0\nwhile True:\n    i = i + 1\n", {6}, {}}, folder / "model.pt");
    const std::string command = std::string(RETRACE_TORCH) + " record " + (folder / "model.pt").string() + " " +
                                (folder / "out").string() +
                                " f32:1x6 f32:1x6 & p=$!; i=0; c=;"
                                " until grep -qs \"Seccomp:[[:space:]]*2\" \"$c\" || [ $i -ge 150 ]; do"
                                " sleep 0.2; i=$((i + 1));"
                                " c=$(grep -ls \"PPid:[[:space:]]*$p$\" /proc/[0-9]*/status); done;"
                                " cat /proc/$p/limits;"
                                " cat \"$c\" \"${c%status}limits\"; kill -9 $p; i=0;"
                                " while [ $i -lt 50 ] && grep -q \"State:[[:space:]]*[RSD]\" \"$c\" 2>/dev/null;"
                                " do sleep 0.2; i=$((i + 1)); done; [ $i -lt 50 ] && echo gone";
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string said;
    for (int c; (c = std::fgetc(pipe)) != EOF;) said += static_cast<char>(c);
    ::pclose(pipe);
    EXPECT_THAT(said, ContainsRegex("Max cpu time +1200 +1200 "));
    EXPECT_THAT(said, ContainsRegex("Max data size +[0-9]+ +[0-9]+ "));
    EXPECT_THAT(said, ContainsRegex("Max core file size +0 +0 "));
    EXPECT_THAT(said, ContainsRegex("Max file size +[0-9]+ +[0-9]+ "));
    if (solver::sandbox_is_supported()) {
        EXPECT_THAT(said, AllOf(ContainsRegex("NoNewPrivs:\t1"), ContainsRegex("Seccomp:\t2")));
    }
    EXPECT_THAT(said, HasSubstr("gone"));
}

solver::RecordedModel recorded(const std::string& body) {
    const TemporaryFolder folder;
    const StateModel model{body, {6}, {{"mean", {6}}, {"var", {6}}}};
    make_state_model(model, folder / "model.pt");
    std::ifstream file(folder / "model.pt", std::ios::binary);
    auto out = solver::record_model(file, {false, {4, 6}}, {false, {4, 6}});
    EXPECT_TRUE(out) << out.error().message;
    return out ? std::move(*out) : solver::RecordedModel{};
}

TEST(Modes, WhatATraceFixesIsSaid) {
    const auto norm = [](const std::string& mode) {
        return "y = torch.batch_norm(y, None, None, self.mean, self.var, " + mode + ", 0.1, 1e-5, False)\n";
    };
    EXPECT_THAT(solver::fixed_modes(recorded(norm("self.training"))), ElementsAre());
    EXPECT_THAT(solver::fixed_modes(recorded("y = torch.dropout(y, 0.5, False)\n" + norm("False"))),
                ElementsAre(AllOf(HasSubstr("aten::batch_norm"), HasSubstr("is off while the model trains")),
                            AllOf(HasSubstr("aten::dropout"), HasSubstr("is off while the model trains"))));
    EXPECT_THAT(solver::fixed_modes(recorded("y = torch.dropout(y, 0.5, True)\n" + norm("True"))),
                ElementsAre(HasSubstr("aten::batch_norm in the model trains while the model is evaluated"),
                            HasSubstr("aten::dropout in the model trains while the model is evaluated")));
}

/// The mask is drawn from the task's seed in every step; it is not the one that was drawn while recording.
TEST(Modes, DropoutOfAConstantIsDrawnAnew) {
    const auto is_dropout = [](const solver::RecordedOp& op) { return op.name == "aten::dropout"; };
    const auto model = recorded("y = y * torch.dropout(torch.ones([4, 6]), 0.5, self.training)\n");
    EXPECT_TRUE(std::any_of(model.train.ops.begin(), model.train.ops.end(), is_dropout));
    EXPECT_FALSE(std::any_of(model.eval.ops.begin(), model.eval.ops.end(), is_dropout));
    EXPECT_THAT(refusal_of_ema("y = y * torch.empty([4, 6]).random_(3)\n"), HasSubstr("aten::random"));
    EXPECT_EQ(recorded("y = y + torch.empty([1024])[0:6]\n").train.values,
              recorded("y = y + torch.empty([1024])[0:6]\n").train.values);
}

}  // namespace
}  // namespace retrace::testing
