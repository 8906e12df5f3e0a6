// SPDX-License-Identifier: MIT
// The file of an interrupted training: which trainings go on from it.
#include "node/tasks/run_progress.hpp"

#include <gmock/gmock.h>

#include "tests/unit/node/artifacts_fixture.hpp"

namespace retrace::node {
namespace {

using testing::HasSubstr;

struct Progress : testing::Test {
    Progress() {
        first.tensors.push_back(kernels::zeros(kernels::DType::f32, {4}));
        saved.state = first;
        saved.state.step = 12'520;
        saved.losses = {{12'519, 0.5f}};
        EXPECT_TRUE(save_progress(path, identity, saved));
    }
    auto load(std::uint64_t steps) { return load_progress(path, identity, first, steps); }

    test::TemporaryFolder folder;
    std::filesystem::path path = folder.path() / "unfinished.run";
    Hash32 identity{{7}};
    kernels::State first;
    RunProgress saved;
};

TEST_F(Progress, IsForTrainingsThatAreAtLeastAsLong) {
    for (const std::uint64_t steps : {12'520u, 20'000u, 40'000u}) {
        const auto loaded = load(steps);
        ASSERT_TRUE(loaded && *loaded) << steps;
        EXPECT_EQ((*loaded)->state.step, 12'520U);
        EXPECT_EQ((*loaded)->losses, saved.losses);
    }
}

TEST_F(Progress, IsRefusedBeyondTheLastStepAndNotDeleted) {
    const auto loaded = load(12'519);
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().message, HasSubstr("at step 12520, beyond the task's 12519 steps"));
    EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(Progress, OfAnotherTrainingIsIgnored) {
    identity = Hash32{{8}};
    const auto loaded = load(100);
    ASSERT_TRUE(loaded);
    EXPECT_FALSE(loaded->has_value());
}

}  // namespace
}  // namespace retrace::node
