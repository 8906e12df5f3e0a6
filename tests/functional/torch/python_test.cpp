// SPDX-License-Identifier: MIT
// TorchScript files written by Python, and our files opened by Python.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>

#include "solver/torch/torch_model.hpp"
#include "tests/functional/torch/one_step.hpp"

namespace retrace::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kPythonBatch = 3, kClasses = 5;
constexpr const char* kPython = "/usr/bin/python3";  // Debian's, to which python3-torch belongs.

kernels::Tensor images() { return samples_of({kPythonBatch, 1, 8, 8}); }

std::vector<fs::path> files_in(const fs::path& folder) {
    std::vector<fs::path> out;
    for (const auto& entry : fs::directory_iterator(folder)) {
        if (entry.path().extension() == ".pt") out.push_back(entry.path());
    }
    std::sort(out.begin(), out.end());
    return out;
}

/// Files of a newer PyTorch may call ops that this LibTorch lacks; the error then names them.
void expect_import(const fs::path& file) {
    SCOPED_TRACE(file.filename().string());
    const auto ours = step_of_ours(file, images(), labels_of(kPythonBatch), kClasses);
    if (!ours && file.filename().string().rfind("torch2.6", 0) == 0) {
        EXPECT_THAT(ours.error().message,
                    ::testing::AllOf(::testing::HasSubstr("aten::scaled_dot_product_attention"),
                                     ::testing::HasSubstr("written by a newer PyTorch than this LibTorch, 1.")));
        return;
    }
    ASSERT_TRUE(ours) << ours.error().message;
    expect_step_of_LibTorch(*ours, file, images(), labels_of(kPythonBatch));
}

int run(const std::string& command) {
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool has_python_torch() { return run(std::string(kPython) + " -c 'import torch' 2>/dev/null") == 0; }

/// The parameter is the file's origin, with the version of PyTorch in its name.
class WrittenByPython : public ::testing::TestWithParam<std::string> {};

TEST_P(WrittenByPython, ScriptedAndTracedModelsTrainAsInLibTorch) {
    std::size_t count = 0;
    for (const fs::path& file : files_in(fs::path(RETRACE_VECTORS) / "torch")) {
        if (file.filename().string().rfind(GetParam(), 0) != 0) continue;
        expect_import(file);
        ++count;
    }
    EXPECT_GE(count, 4u);
}

INSTANTIATE_TEST_SUITE_P(All, WrittenByPython, ::testing::Values("torch1.13-", "torch2.6-"),
                         [](const auto& info) { return info.param == "torch1.13-" ? "by_1_13" : "by_2_6"; });

TEST(Python, ScriptsAndTracesOfThisMachineTrainAsInLibTorch) {
    if (!has_python_torch()) GTEST_SKIP() << "SKIP: apt-get install --no-install-recommends python3-torch";
    const TemporaryFolder folder;
    ASSERT_EQ(run(std::string(kPython) + " -W ignore " + RETRACE_VECTORS + "/torch/make.py " + folder.path().string()),
              0);
    const std::vector<fs::path> files = files_in(folder.path());
    EXPECT_EQ(files.size(), 6u);
    for (const fs::path& file : files) expect_import(file);
}

/// Trained weights are written back into the file: Python opens it and finds the same values as in the safetensors
/// file.
TEST(Python, OpensTheTrainedModelAndItsSafetensorsAgree) {
    if (!has_python_torch()) GTEST_SKIP() << "SKIP: apt-get install --no-install-recommends python3-torch";
    const fs::path file = fs::path(RETRACE_VECTORS) / "torch" / "torch1.13-script-cnn.pt";
    const auto ours = step_of_ours(file, images(), labels_of(kPythonBatch), kClasses);
    ASSERT_TRUE(ours) << ours.error().message;
    const TemporaryFolder folder;
    std::ifstream in(file, std::ios::binary);
    std::ofstream out(folder / "model.pt", std::ios::binary);
    const auto exported = solver::export_model(in, ours->after, 1, out);
    out.close();
    ASSERT_TRUE(exported) << exported.error().message;
    const Bytes bytes = solver::encode_safetensors({ours->after, {{"format", "pt"}}});
    std::ofstream(folder / "model.safetensors", std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    const std::string check = std::string(RETRACE_VECTORS) + "/torch/check.py";
    EXPECT_EQ(run(std::string(kPython) + " -W ignore " + check + " " + folder.path().string()), 0);
}

}  // namespace
}  // namespace retrace::testing
