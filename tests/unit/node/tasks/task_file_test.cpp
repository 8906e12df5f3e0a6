// SPDX-License-Identifier: MIT
// What a console takes from task.toml is what the terms are computed to be, or the folder is refused.
#include "node/tasks/task_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "kernels/commit/contract.hpp"
#include "kernels/program/codec.hpp"
#include "node/agents/requester.hpp"
#include "node/platform/files.hpp"
#include "node/tasks/evaluate.hpp"
#include "node/tasks/initial_state.hpp"
#include "node/tasks/model_files.hpp"
#include "tests/unit/node/artifacts_fixture.hpp"
#include "tests/unit/node/small_task.hpp"

namespace retrace::node {
namespace {

using ::testing::HasSubstr;

class CompiledTask : public ::testing::Test {
protected:
    void SetUp() override {
        const auto task = compile_task(test::small_request(folder_.path() / "task"), test::eight_zeros(), nullptr);
        ASSERT_TRUE(task) << task.error().message;
        task_ = *task;
    }
    /// Replaces a part of task.toml and loads it again.
    Result<TaskFile> changed(const std::string& part, const std::string& other) {
        const std::filesystem::path file = folder_.path() / "task" / "task.toml";
        const auto bytes = read_file(file, 1 << 20);
        std::string text(bytes->begin(), bytes->end());
        const auto at = text.find(part);
        if (at == std::string::npos) return error("task.toml has no " + part);
        std::ofstream(file) << text.replace(at, part.size(), other);
        return load_task_file(file);
    }
    std::string cost() const { return std::to_string(task_.compiled->step_cost); }

    test::TemporaryFolder folder_;
    TaskFile task_;
};

TEST_F(CompiledTask, StatesTheCostOfAStepAndTheContract) {
    const auto program = read_program(task_.program);
    ASSERT_TRUE(program);
    ASSERT_TRUE(task_.compiled);
    EXPECT_EQ(task_.compiled->step_cost, kernels::step_cost(*program));
    EXPECT_EQ(task_.compiled->contract, kernels::contract_hash());
}

TEST_F(CompiledTask, KeepsMetricsWhichBelongToNoModel) {
    const auto program = read_program(task_.program);
    ASSERT_TRUE(program);
    EXPECT_EQ(program->tensors[program->states - 2].name, kernels::kAccuracyTensor);
    EXPECT_EQ(program->tensors[program->states - 1].name, kernels::kLossTensor);
    kernels::ThreadPool pool(1);
    for (const solver::NamedTensor& tensor : model_tensors(*program, *first_state(task_, *program, pool)))
        EXPECT_FALSE(kernels::is_metric_tensor(tensor.name)) << tensor.name;
}

TEST_F(CompiledTask, IsNotPostedWithFactsOfAnotherProgram) {
    const auto store = test::open_store(folder_.path() / "store");
    EXPECT_TRUE(spec_of(task_, *store));
    const auto other = changed("step_cost = " + cost(), "step_cost = " + cost() + "0");
    ASSERT_TRUE(other) << other.error().message;
    const auto spec = spec_of(*other, *store);
    ASSERT_FALSE(spec);
    EXPECT_THAT(spec.error().message, HasSubstr("compile the task again"));
}

/// Posting publishes what a task names, so the file of a task from somebody else must not name the reader's own files.
TEST_F(CompiledTask, NamesNothingOutsideOfItsFolder) {
    for (const char* const outside : {"/etc", "../other", "data/../../other", "..", ""}) {
        const auto loaded = changed("data = 'data'", "data = '" + std::string(outside) + "'");
        ASSERT_FALSE(loaded) << outside;
        EXPECT_THAT(loaded.error().message, HasSubstr("outside of the task's folder"));
        ASSERT_TRUE(changed("data = '" + std::string(outside) + "'", "data = 'data'"));
    }
    EXPECT_TRUE(changed("data = 'data'", "data = './other/../data'"));
    const auto device = read_program("/dev/zero");
    ASSERT_FALSE(device);
    EXPECT_THAT(device.error().message, HasSubstr("not a regular file"));
    const auto pipe = folder_.path() / "pipe";
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_FALSE(read_program(pipe)) << "nobody writes to it";
}

TEST_F(CompiledTask, OfAnOlderVersionIsPostedWithoutThem) {
    TaskFile older = task_;
    older.compiled.reset();
    const auto store = test::open_store(folder_.path() / "store");
    EXPECT_TRUE(spec_of(older, *store));
}

TEST_F(CompiledTask, IsRefusedWithFactsThatAreNone) {
    const std::string line = "step_cost = " + cost();
    for (const auto& [now, sentence] :
         {std::pair{"step_cost = 0", "[compiled] step_cost must be a whole number from 1"},
          std::pair{"step_cost = 1\nother = 1", "[compiled] other is not a known key"}}) {
        const auto loaded = changed(line, now);
        ASSERT_FALSE(loaded) << now;
        EXPECT_THAT(loaded.error().message, HasSubstr(sentence));
        ASSERT_TRUE(changed(now, line));
    }
    const auto contract = changed("contract = '0x", "contract = '");
    ASSERT_FALSE(contract);
    EXPECT_THAT(contract.error().message, HasSubstr("[compiled] contract must be 0x and 64 hex digits"));
}

}  // namespace
}  // namespace retrace::node
