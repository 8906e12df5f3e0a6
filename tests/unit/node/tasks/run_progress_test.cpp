// SPDX-License-Identifier: MIT
// The file of an interrupted training: which trainings go on from it.
#include "node/tasks/run_progress.hpp"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

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

TEST_F(Progress, OfAnotherTrainingIsRefusedAndKept) {
    identity = Hash32{{8}};
    const auto loaded = load(100);
    ASSERT_FALSE(loaded);
    EXPECT_THAT(loaded.error().message, HasSubstr("is of another training"));
    EXPECT_TRUE(std::filesystem::exists(path));
}

/// A file that is larger than memory comes from the disk twice, and a disk may read otherwise the second time.
TEST_F(Progress, BytesThatChangeAfterTheFirstLookAreNoticed) {
    constexpr std::uint64_t kBytes = 1 << 20;
    const Bytes tensor(kBytes, 5);
    const auto save = [&] {
        return save_progress(path, identity, {10, {}}, 2, [&](std::uint32_t) { return View(tensor); });
    };
    for (const bool changes : {false, true}) {
        ASSERT_TRUE(save());
        std::vector<std::uint32_t> taken;
        const auto loaded = load_progress(path, identity, {kBytes, kBytes}, 10, [&](std::uint32_t state, const Bytes&) {
            taken.push_back(state);
            if (!changes || state != 0) return;
            std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
            file.seekp(static_cast<std::streamoff>(kBytes + kBytes / 2 + kBytes / 4));
            file.put(6);
        });
        EXPECT_EQ(loaded.has_value(), !changes);
        EXPECT_EQ(taken, (std::vector<std::uint32_t>{0, 1}));
        if (changes) {
            EXPECT_THAT(loaded.error().message, HasSubstr("is damaged"));
        }
    }
}

TEST_F(Progress, LeftoversOfKilledProcessesAreRemoved) {
    const pid_t gone = ::fork();
    if (gone == 0) ::_exit(0);
    ASSERT_EQ(::waitpid(gone, nullptr, 0), gone);
    const auto leftover = [&](const std::string& of) {
        const std::filesystem::path out = path.string() + "." + of + ".unfinished";
        std::ofstream(out) << "a part";
        return out;
    };
    const auto dead = leftover(std::to_string(gone)), alive = leftover(std::to_string(::getpid())),
               other = leftover("notes");
    ASSERT_TRUE(load(20'000));
    EXPECT_FALSE(std::filesystem::exists(dead));
    EXPECT_TRUE(std::filesystem::exists(alive)) << "another training saves itself now";
    EXPECT_TRUE(std::filesystem::exists(other)) << "not a file of ours";
}

}  // namespace
}  // namespace retrace::node
