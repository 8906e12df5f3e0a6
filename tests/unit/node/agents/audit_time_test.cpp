// SPDX-License-Identifier: MIT
// The time at which an auditor stops waiting for its material.
#include <gtest/gtest.h>

#include "node/agents/views.hpp"

namespace retrace::node {
namespace {

TEST(AuditTime, HalfOfTheVerdictBlocksGoesToFetching) {
    EXPECT_EQ(fetch_by_of(100, 160, 60, 0), 130u);
    EXPECT_EQ(fetch_by_of(100, 1'160, 60, 1'000), 130u) << "the replay allowance is for the replay";
    EXPECT_EQ(fetch_by_of(110, 160, 60, 0), 130u);
}

TEST(AuditTime, AnOpenReportGivesNoMoreAtATime) {
    // If answered in the next block, it moves the deadline to 161.
    EXPECT_EQ(fetch_by_of(100, 220, 60, 0), 130u);
}

TEST(AuditTime, AReportIsStillInTimeHoweverLateTheFetchBegins) {
    for (std::uint64_t height = 131; height < 160; ++height) {
        const std::uint64_t by = fetch_by_of(height, 160, 60, 0);
        EXPECT_GE(by, height);
        EXPECT_LE(by - height, (160 - height) / 2) << height;
    }
    EXPECT_EQ(fetch_by_of(160, 160, 60, 0), 160u);
    EXPECT_EQ(fetch_by_of(200, 160, 60, 0), 200u);
}

}  // namespace
}  // namespace retrace::node
