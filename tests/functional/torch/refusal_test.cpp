// SPDX-License-Identifier: MIT
// Models that `task compile` cannot turn into a program are refused with a message, and no folder is left.
#include <gmock/gmock.h>

#include <bit>

#include "tests/functional/task_fixture.hpp"
#include "tests/functional/torch/torch_peer.hpp"

namespace retrace::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Refusal : public TaskTest {
protected:
    std::string compile(const std::string& model, const std::string& data, const std::string& more = "") {
        const std::string batch = more.empty() ? " --batch 16 " : more;
        const Ran ran = retrace("task compile " + model + " --data " + data + " --steps 4 " + batch + " -o " +
                                path("task").string());
        EXPECT_EQ(ran.status, 1) << ran.out << ran.err;
        std::error_code ignored;
        EXPECT_FALSE(fs::exists(path("task"), ignored));
        EXPECT_FALSE(fs::exists(path("task.partial"), ignored));
        return ran.err;
    }
    std::string compile_model(const std::string& name) {
        make_model(name, path("model.pt"));
        return compile(path("model.pt").string(), small_images(32).string());
    }
    void write(const std::string& name, const std::string& content) {
        std::ofstream(path(name), std::ios::binary) << content;
    }
};

TEST_F(Refusal, ControlFlowThatDependsOnDataIsNamed) {
    EXPECT_THAT(compile_model("branch"), AllOf(HasSubstr("depend on data"), HasSubstr("torch.where")));
}

TEST_F(Refusal, AllOpsWithoutARuleAreListedWithWhatToUseInstead) {
    EXPECT_THAT(compile_model("sorting"), AllOf(HasSubstr("aten::sort in the model: sorting; use a maximum"),
                                                HasSubstr("aten::cumsum in the model"), HasSubstr("triangular")));
}

TEST_F(Refusal, AnOpIsNamedWithThePathOfItsModule) {
    EXPECT_THAT(compile_model("nested"), HasSubstr("aten::cumsum in layer0.attention: "));
}

TEST_F(Refusal, RandomNumbersThatTheSeedDoesNotDecide) {
    EXPECT_THAT(compile_model("noise"), AllOf(HasSubstr("aten::rand_like"), HasSubstr("nn.Dropout")));
}

TEST_F(Refusal, OtherPrecisions) { EXPECT_THAT(compile_model("double"), HasSubstr("use float32")); }
TEST_F(Refusal, SeveralOutputs) { EXPECT_THAT(compile_model("tuple"), HasSubstr("must return one tensor")); }
TEST_F(Refusal, ModelsWithoutParameters) { EXPECT_THAT(compile_model("no_parameters"), HasSubstr("no parameters")); }

TEST_F(Refusal, ModelsThatWriteFiles) {
    EXPECT_THAT(compile_model("writes_file"), HasSubstr("aten::save")) << "in a branch that is never taken";
    EXPECT_FALSE(fs::exists("stolen"));
}

TEST_F(Refusal, FilesThatAreCutOrDamaged) {
    make_model("mlp", path("whole.pt"));
    std::ifstream in(path("whole.pt"), std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(in), {}};
    const std::string data = small_images(32).string();
    write("cut.pt", whole.substr(0, whole.size() / 2));
    EXPECT_THAT(compile(path("cut.pt").string(), data), HasSubstr("corrupt or truncated"));
    write("empty.pt", "");
    EXPECT_THAT(compile(path("empty.pt").string(), data), HasSubstr("empty"));
    write("text.pt", "this is no model");
    EXPECT_THAT(compile(path("text.pt").string(), data), HasSubstr("no TorchScript file"));
    EXPECT_THAT(compile(path("absent.pt").string(), data), HasSubstr("no such file"));
}

TEST_F(Refusal, PicklesAreNotOpened) {
    write("pickle.pt", std::string("\x80\x02", 2) + "cos\nsystem\nX\x0d\0\0\0touch stolen\x85R.");
    const std::string said = compile(path("pickle.pt").string(), small_images(32).string());
    EXPECT_THAT(said, AllOf(HasSubstr("Python pickle"), HasSubstr("torch.jit.script")));
}

TEST_F(Refusal, LabelsOutOfRange) {
    make_model("mlp", path("model.pt"));
    EXPECT_THAT(compile(path("model.pt").string(), small_images(32, 12).string()),
                HasSubstr("the labels go up to 11 and the model has 10 classes"));
}

TEST_F(Refusal, SamplesOfAShapeThatForwardDoesNotTake) {
    make_model("gpt", path("model.pt"));
    EXPECT_THAT(compile(path("model.pt").string(), small_images(32).string()), HasSubstr("forward() fails on samples"));
}

TEST_F(Refusal, FewerSamplesThanABatch) {
    EXPECT_THAT(compile("lenet", small_images(8).string()), HasSubstr("8 samples, fewer than a batch of 16"));
}

TEST_F(Refusal, NumbersThatAreNone) {
    node::DataSet data;
    data.name = "holes";
    data.classes = 2;
    kernels::Tensor x = kernels::zeros(kernels::DType::f32, {32, 4});
    x.f32()[70] = std::bit_cast<float>(0x7fc00000u);
    data.parts.push_back(node::make_part("x", std::move(x)));
    data.parts.push_back(node::make_part("y", kernels::zeros(kernels::DType::u8, {32})));
    ASSERT_TRUE(node::save_dataset(data, path("holes")));
    EXPECT_THAT(compile("mlp", path("holes").string()), HasSubstr("NaN or an infinity: x, element 70"));
}

TEST_F(Refusal, ClassesWhereTheTargetsAreNumbers) {
    write("numbers.csv", "1,2,0.5\n3,4,0.25\n5,6,0.75\n");
    EXPECT_THAT(compile("mlp", path("numbers.csv").string(), "--batch 2"), HasSubstr("--loss mse"));
}

TEST_F(Refusal, AnOutputThatCannotBeWritten) {
    write("occupied", "a file");
    const Ran ran = retrace("task compile lenet --data " + small_images(32).string() + " --batch 16 -o " +
                            (path("occupied") / "task").string());
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.err, HasSubstr("occupied"));
}

TEST(Packaging, TheNodeDoesNotLinkLibTorch) {
    const std::string command = std::string("ldd ") + RETRACE_PROGRAM;
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string out;
    std::array<char, 4096> buffer;
    for (std::size_t count; (count = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
        out.append(buffer.data(), count);
    ASSERT_EQ(::pclose(pipe), 0);
    EXPECT_THAT(out, AllOf(HasSubstr("libc.so"), Not(HasSubstr("torch")), Not(HasSubstr("libc10"))));
}

}  // namespace
}  // namespace retrace::testing
