// SPDX-License-Identifier: MIT
// When a training on this machine is saved.
#include "node/cmd/local_steps.hpp"

#include <gmock/gmock.h>

#include <csignal>
#include <thread>

namespace retrace::node::cli {
namespace {

using testing::HasSubstr;

struct LocalStepsTest : testing::Test {
    TaskFile task;
    std::uint64_t step = 0, saves = 0, signal_in = ~std::uint64_t{0};
    std::chrono::milliseconds of_save{0};
    Status<> saved = Unit{};
    Losses losses;

    LocalStepsTest() { task.steps = 8; }
    Status<> run(std::chrono::milliseconds every) {
        LocalSteps local{[this] { return step; },
                         [this](const kernels::StopToken& stop) -> std::optional<std::vector<kernels::Metric>> {
                             if (step == signal_in) std::raise(SIGINT);
                             if (stop.stop_requested()) return std::nullopt;
                             ++step;
                             std::this_thread::sleep_for(std::chrono::milliseconds(5));
                             return std::vector<kernels::Metric>{{"loss", 0.5f}};
                         },
                         [this](const Losses&) {
                             ++saves;
                             std::this_thread::sleep_for(of_save);
                             return saved;
                         },
                         "unfinished.run"};
        local.save_every = every;
        return run_steps(task, local, losses);
    }
};

TEST_F(LocalStepsTest, ASaveThatFailsIsReportedAndTheTrainingGoesOn) {
    saved = error("the disk is full");
    testing::internal::CaptureStderr();
    const auto ran = run(std::chrono::milliseconds(0));
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(ran);
    EXPECT_EQ(step, task.steps);
    EXPECT_GE(saves, 2u) << "it is tried again";
    EXPECT_THAT(said, HasSubstr("not saved at step 1: the disk is full; the training goes on"));
}

TEST_F(LocalStepsTest, SavesThatTakeLongAreMadeLessOften) {
    of_save = std::chrono::milliseconds(50);  // twenty times of it is longer than all steps
    ASSERT_TRUE(run(std::chrono::milliseconds(0)));
    EXPECT_EQ(saves, 1u);
}

TEST_F(LocalStepsTest, ASignalStopsTheStepAtHandAndTheStateBeforeItIsSaved) {
    signal_in = 3;
    const auto ran = run(std::chrono::minutes(1));
    ASSERT_FALSE(ran);
    EXPECT_THAT(ran.error().message, HasSubstr("interrupted at step 3 of 8, which is saved in unfinished.run"));
    EXPECT_EQ(step, 3u);
    EXPECT_EQ(losses.size(), 3u);
    EXPECT_EQ(saves, 1u);
}

}  // namespace
}  // namespace retrace::node::cli
