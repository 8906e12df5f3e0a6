// SPDX-License-Identifier: MIT
// External weights become values that a step may read, or are refused by name (contract 1).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/platform/files.hpp"
#include "node/tasks/evaluate.hpp"
#include "node/tasks/initial_state.hpp"
#include "node/tasks/model_files.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"
#include "tests/unit/node/small_task.hpp"

namespace retrace::node {
namespace {

using ::testing::HasSubstr;

/// The weights of a small model with the first elements of one tensor replaced, and a task that starts with them.
class GivenWeights : public ::testing::Test {
protected:
    void SetUp() override {
        const auto base = compile("base", {});
        ASSERT_TRUE(base) << base.error().message;
        program_ = *read_program(base->program);
        kernels::ThreadPool pool(1);
        tensors_ = model_tensors(program_, *first_state(*base, program_, pool));
        ASSERT_GE(tensors_.at(0).tensor.elements(), 4U);
    }

    Result<TaskFile> compile(const std::string& name, const std::filesystem::path& start) {
        CompileRequest request = test::small_request(folder_.path() / name);
        request.task.name = name;
        request.start = start;
        return compile_task(request, data_, nullptr);
    }
    std::filesystem::path weights(const std::vector<std::uint32_t>& first) {
        std::vector<solver::NamedTensor> changed = tensors_;
        for (std::size_t i = 0; i < first.size(); ++i) store_u32(changed[0].tensor.data.data() + 4 * i, first[i]);
        const auto path = folder_.path() / "weights.safetensors";
        EXPECT_TRUE(write_initial_state(changed, path));
        return path;
    }
    std::vector<std::uint32_t> first_bits(const kernels::Tensor& tensor) const {
        return {tensor.bits(0), tensor.bits(1), tensor.bits(2), tensor.bits(3)};
    }

    const std::vector<std::uint32_t> odd_{0x00000001, 0x807fffff, 0x00800000, 0x80000000};
    const std::vector<std::uint32_t> flushed_{0, 0x80000000, 0x00800000, 0x80000000};
    test::TemporaryFolder folder_;
    DataSet data_ = test::eight_zeros();
    kernels::Program program_;
    std::vector<solver::NamedTensor> tensors_;
};

TEST_F(GivenWeights, SubnormalsBecomeTheZeroOfTheirSignInTheTask) {
    const auto task = compile("task", weights(odd_));
    ASSERT_TRUE(task) << task.error().message;
    const auto file = read_file(*task->initial_state, 1 << 20);
    ASSERT_TRUE(file);
    const auto written = solver::decode_safetensors(*file);
    ASSERT_TRUE(written);
    EXPECT_EQ(first_bits(written->tensors.at(0).tensor), flushed_);
}

TEST_F(GivenWeights, SubnormalsBecomeTheZeroOfTheirSignInAStateThatIsRead) {
    const auto state = read_initial_state(weights(odd_), program_);
    ASSERT_TRUE(state) << state.error().message;
    for (std::uint32_t i = 0; i < program_.states; ++i) {
        if (program_.tensors[i].name == tensors_[0].name) {
            EXPECT_EQ(first_bits(state->tensors[i]), flushed_);
        }
    }
}

TEST_F(GivenWeights, NanAndInfinitiesAreRefusedWithTheirPlace) {
    for (const std::uint32_t bits : {0x7fc00000u, 0xffc12345u, 0x7f800001u, 0x7f800000u, 0xff800000u}) {
        const auto path = weights({0, 0x3f800000, bits});
        const std::string wanted = path.string() + ": " + tensors_[0].name + " holds a NaN or an infinity at element 2";
        const auto state = read_initial_state(path, program_);
        ASSERT_FALSE(state) << bits;
        EXPECT_EQ(state.error().message, wanted);
        const auto task = compile("refused", path);
        ASSERT_FALSE(task) << bits;
        EXPECT_EQ(task.error().message, wanted);
        EXPECT_FALSE(std::filesystem::exists(folder_.path() / "refused"));
    }
}

}  // namespace
}  // namespace retrace::node
