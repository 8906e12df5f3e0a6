// SPDX-License-Identifier: MIT
// What is kept of a task's story, also when a solver that lies tells it.
#include "node/cmd/task_log.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "tests/unit/node/rpc_world.hpp"

namespace retrace::node::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct TaskLogTest : testing::Test {
    test::TempFolder folder;
    const std::filesystem::path file = std::filesystem::path(folder.path()) / "7298-3.log";
};

TEST_F(TaskLogTest, KeepsALineOnceWhateverItsHeight) {
    for (int i = 0; i < 3; ++i) {
        TaskLog log(file);
        for (const std::uint64_t height : {std::uint64_t{5}, std::uint64_t{1} << 63, UINT64_MAX})
            ASSERT_TRUE(log.add(height, "step 25"));
    }
    EXPECT_THAT(TaskLog(file).lines(),
                ElementsAre(TaskLog::Line{5, "step 25"}, TaskLog::Line{std::uint64_t{1} << 63, "step 25"},
                            TaskLog::Line{UINT64_MAX, "step 25"}));
}

TEST_F(TaskLogTest, SaysThatItIsFull) {
    {
        std::ofstream out(file);
        for (std::size_t i = 0; i < TaskLog::kLinesMax; ++i) out << "{\"height\":" << i << ",\"event\":\"x\"}\n";
    }
    TaskLog log(file);
    EXPECT_FALSE(log.is_full()) << "nothing is left out";
    EXPECT_TRUE(log.add(7, "x"));
    EXPECT_FALSE(log.is_full());
    EXPECT_TRUE(log.add(7, "settled"));
    EXPECT_TRUE(log.is_full());
    EXPECT_THAT(log.full_note(), testing::AllOf(HasSubstr("100000 lines"), HasSubstr(file.string())));
    EXPECT_EQ(TaskLog(file).lines().size(), TaskLog::kLinesMax);
    std::ofstream(file, std::ios::app) << "{\"height\":7,\"event\":\"of an earlier version\"}\n";
    EXPECT_TRUE(TaskLog(file).is_full());
}

}  // namespace
}  // namespace retrace::node::cli
