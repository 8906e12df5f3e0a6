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

TEST(LogTail, CutsALineBetweenCharacters) {
    LogTail tail;
    for (const std::size_t before : {0U, 1U, 2U}) {
        std::string line(before, 'x');
        while (line.size() < 2 * LogTail::kLineBytes) line += "\xe2\x82\xac";
        tail.add(line);
        const std::string cut = tail.from(before).lines.at(0);
        ASSERT_TRUE(cut.ends_with(" …"));
        EXPECT_EQ((cut.size() - before - std::string(" …").size()) % 3, 0U);
        EXPECT_LE(cut.size(), LogTail::kLineBytes + std::string(" …").size());
    }
}

}  // namespace
}  // namespace retrace::node
