// SPDX-License-Identifier: MIT
// The newest lines of a log stay within their bounds.
#include "node/platform/log_tail.hpp"

#include <gmock/gmock.h>

namespace retrace::node {
namespace {

using ::testing::ElementsAre;

TEST(LogTail, ForgetsTheOldestLines) {
    LogTail tail;
    for (std::size_t i = 0; i < LogTail::kLines + 5; ++i) tail.add("line " + std::to_string(i));
    const LogTail::Page page = tail.from(0);
    EXPECT_EQ(page.first, 5U);
    EXPECT_EQ(page.lines.size(), LogTail::kLines);
    EXPECT_EQ(page.lines.front(), "line 5");
    EXPECT_THAT(tail.from(LogTail::kLines + 4).lines, ElementsAre("line 1004"));
    EXPECT_THAT(tail.from(LogTail::kLines + 5).lines, ElementsAre());
}

TEST(LogTail, HoldsFewBytesWhateverIsLogged) {
    LogTail tail;
    for (int i = 0; i < 1000; ++i) tail.add(std::string(1 << 16, 'x'));
    std::size_t bytes = 0;
    for (const std::string& line : tail.from(0).lines) bytes += line.size();
    EXPECT_LE(bytes, LogTail::kBytes);
    EXPECT_GT(bytes, LogTail::kBytes / 2);
    tail.add("\r\n");
    EXPECT_EQ(tail.from(0).lines.back(), "");
}

}  // namespace
}  // namespace retrace::node
