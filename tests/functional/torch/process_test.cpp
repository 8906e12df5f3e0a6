// SPDX-License-Identifier: MIT
// retrace-torch as a process: its files and output, with and without a sandbox.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "solver/sandbox/sandbox.hpp"
#include "solver/torch/torch_model.hpp"
#include "tests/functional/torch/no_filters.hpp"
#include "tests/functional/torch/state_peer.hpp"
#include "tests/functional/torch/temporary_folder.hpp"

namespace retrace::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string content_of(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& path, const Bytes& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

struct Ran {
    int status = -1;
    std::string out, err;
};

class Process : public ::testing::Test {
protected:
    Ran run(std::vector<std::string> words, bool with_filters = true) const {
        words.insert(words.begin(), RETRACE_TORCH);
        std::vector<char*> argv;
        for (std::string& word : words) argv.push_back(word.data());
        argv.push_back(nullptr);
        const fs::path out = folder / "stdout", err = folder / "stderr";
        const pid_t child = ::fork();
        if (child == 0) {
            const bool streams =
                std::freopen(out.c_str(), "w", stdout) != nullptr && std::freopen(err.c_str(), "w", stderr) != nullptr;
            if (!streams) ::_exit(98);
            if (!with_filters) forget_filters();
            ::execv(argv[0], argv.data());
            ::_exit(97);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(out), content_of(err)};
    }
    std::vector<std::string> record(const fs::path& model) const {
        return {"record", model.string(), (folder / "out").string(), "f32:3x1x8x8", "f32:2x1x8x8"};
    }
    fs::path small_model() const {
        make_state_model({"", {6}, {}}, folder / "model.pt");
        return folder / "model.pt";
    }
    const TemporaryFolder folder;
};

TEST_F(Process, WritesInTheSandboxWhatIsRecordedOutside) {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(fs::path(RETRACE_VECTORS) / "torch")) {
        const fs::path file = entry.path();
        if (file.extension() != ".pt" || !file.filename().string().starts_with("torch1.13-")) continue;
        SCOPED_TRACE(file.filename().string());
        const Ran ran = run(record(file));
        ASSERT_EQ(ran.status, 0) << ran.err;
        if (solver::sandbox_is_supported()) {
            EXPECT_EQ(ran.err, "");
        }
        std::ifstream in(file, std::ios::binary);
        const auto recorded = solver::record_model(in, {false, {3, 1, 8, 8}}, {false, {2, 1, 8, 8}});
        ASSERT_TRUE(recorded) << recorded.error().message;
        const Bytes bytes = encode(*recorded);
        EXPECT_EQ(content_of(folder / "out"), std::string(bytes.begin(), bytes.end()));
        ++count;
    }
    EXPECT_GE(count, 4u);
    EXPECT_FALSE(fs::exists(folder / "out.partial"));
}

/// Resources that LibTorch looks up on first use were looked up before the sandbox: its generator, all of its threads.
TEST_F(Process, ModelsThatDrawAndModelsThatAreLargeAreReadInTheSandbox) {
    const std::string draws = "y = torch.dropout(y, 0.5, self.training)\n";
    const std::string large = "y = y + torch.matmul(torch.ones([700, 700]), torch.ones([700, 700])).sum() * 0.0\n";
    for (const std::string& body : {draws, large}) {
        make_state_model({body, {6}, {}}, folder / "model.pt");
        const Ran ran =
            run({"record", (folder / "model.pt").string(), (folder / "out").string(), "f32:4096x6", "f32:4096x6"});
        EXPECT_EQ(ran.status, 0) << ran.err;
        std::ifstream in(folder / "model.pt", std::ios::binary);
        const auto recorded = solver::record_model(in, {false, {4096, 6}}, {false, {4096, 6}});
        ASSERT_TRUE(recorded) << recorded.error().message;
        const Bytes bytes = encode(*recorded);
        EXPECT_EQ(content_of(folder / "out"), std::string(bytes.begin(), bytes.end()));
    }
}

TEST_F(Process, PutsWeightsBackInTheSandboxAsOutside) {
    const fs::path model = small_model();
    kernels::Tensor head = kernels::zeros(kernels::DType::f32, {6, 5});
    head.f32()[7] = 0.25f;
    const std::vector<solver::NamedTensor> tensors{{"head", head}};
    write(folder / "weights", solver::encode_safetensors({tensors, {}}));
    const fs::path trained = folder / "trained.pt";
    const Ran ran = run({"export", model.string(), (folder / "weights").string(), trained.string(), "7"});
    ASSERT_EQ(ran.status, 0) << ran.err;
    std::ifstream in(model, std::ios::binary);
    std::ostringstream out;
    ASSERT_TRUE(solver::export_model(in, tensors, 7, out));
    EXPECT_EQ(content_of(trained), out.str());
    EXPECT_NE(content_of(trained), content_of(model));
}

TEST_F(Process, AKernelWithoutFiltersIsNamedAndCanBeRefused) {
    const std::vector<std::string> words = {"record", small_model().string(), (folder / "out").string(), "f32:4x6",
                                            "f32:4x6"};
    const Ran warned = run(words, false);
    EXPECT_EQ(warned.status, 0);
    EXPECT_THAT(warned.err, AllOf(StartsWith("warning: no sandbox: "), HasSubstr("rights of this user\n")));
    EXPECT_TRUE(fs::remove(folder / "out"));
    std::vector<std::string> strict = words;
    strict.insert(strict.begin(), "--require-sandbox");
    const Ran refused = run(strict, false);
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err,
                AllOf(StartsWith("no sandbox: "), HasSubstr("CONFIG_SECCOMP_FILTER"), Not(HasSubstr("warning"))));
    EXPECT_FALSE(fs::exists(folder / "out"));
    if (!solver::sandbox_is_supported()) {
        GTEST_SKIP() << "SKIP: this kernel has no seccomp filters; one with CONFIG_SECCOMP_FILTER runs this";
    }
    const Ran shut_in = run(strict);
    EXPECT_EQ(shut_in.status, 0);
    EXPECT_EQ(shut_in.err, "");
}

TEST_F(Process, AFailureLeavesWhatWasThere) {
    std::ofstream(folder / "bad.pt") << "PK, and no more";
    std::ofstream(folder / "out") << "of before";
    const Ran ran = run(record(folder / "bad.pt"));
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.err, AllOf(StartsWith((folder / "bad.pt").string() + ": "), HasSubstr("corrupt or truncated")));
    EXPECT_EQ(content_of(folder / "out"), "of before");
    EXPECT_FALSE(fs::exists(folder / "out.partial"));
    EXPECT_EQ(run(record(folder / "absent.pt")).status, 1);
}

TEST_F(Process, NamesOfTheFileSteerNoTerminal) {
    make_lying_model("name", folder / "model.pt");
    const Ran ran = run({"record", (folder / "model.pt").string(), (folder / "out").string(), "f32:4x6", "f32:4x6"});
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.err, AllOf(HasSubstr("control character"), Not(HasSubstr("\x1b"))));
    // The error message is made by the model itself.
    make_state_model({"assert x.size(0) == 0, \"\\033]0;theirs\\007\\033[2J\"\n", {6}, {}}, folder / "model.pt");
    const Ran raised = run({"record", (folder / "model.pt").string(), (folder / "out").string(), "f32:4x6", "f32:4x6"});
    EXPECT_EQ(raised.status, 1);
    EXPECT_THAT(raised.err, AllOf(HasSubstr("?]0;theirs??[2J"), Not(HasSubstr("\x1b"))));
}

TEST_F(Process, HelpIsPrintedWhereItWasAskedFor) {
    for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
             {"--help"}, {"record", "--help"}, {"export", "a", "b", "c", "d", "--help"}}) {
        const Ran ran = run(words);
        EXPECT_EQ(ran.status, 0);
        EXPECT_THAT(ran.out, AllOf(StartsWith("usage: retrace-torch"), HasSubstr("--require-sandbox")));
        EXPECT_EQ(ran.err, "");
    }
}

TEST_F(Process, WrongUsageIsNamedSo) {
    const std::string model = small_model().string(), out = (folder / "out").string();
    std::vector<std::vector<std::string>> wrong{{},
                                                {"record"},
                                                {"import", model, out, "f32:4x6", "f32:4x6"},
                                                {"export", model, model, out, "many"},
                                                {"export", model, model, out, "-1"}};
    for (const char* shape : {"4x6", "f64:4x6", "f32:", "f32:4x", "f32:4x-6", "f32:0x6", "f32:1x1x1x1x1x1x1",
                              "f32:99999999999999999999", "f32:4294967296x4294967296", "f32:1048576x131072"})
        wrong.push_back({"record", model, out, shape, "f32:4x6"});
    for (const std::vector<std::string>& words : wrong) {
        SCOPED_TRACE(::testing::PrintToString(words));
        const Ran ran = run(words);
        EXPECT_EQ(ran.status, 2);
        EXPECT_EQ(ran.out, "");
        EXPECT_THAT(ran.err, StartsWith("usage: retrace-torch"));
    }
}

}  // namespace
}  // namespace retrace::testing
