// SPDX-License-Identifier: MIT
#include "node/artifacts/program_begins.hpp"

#include <gtest/gtest.h>

namespace retrace::node {
namespace {

const Hash32 kBegunRoot{{1}}, kOtherBegunRoot{{2}};

TEST(ProgramBegins, BelongToOnePeerAndOneProgram) {
    ProgramBegins begins(100);
    begins.keep(kBegunRoot, "a", Bytes(10, 1), true);
    begins.keep(kBegunRoot, "b", {}, true);
    EXPECT_TRUE(begins.take(kBegunRoot, "b").empty());
    EXPECT_TRUE(begins.take(kOtherBegunRoot, "a").empty());
    EXPECT_EQ(begins.take(kBegunRoot, "a"), Bytes(10, 1));
    EXPECT_TRUE(begins.take(kBegunRoot, "a").empty()) << "it was taken";
    begins.keep(kBegunRoot, "a", Bytes(10), true);
    begins.keep(kOtherBegunRoot, "a", Bytes(20), true);
    begins.forget(kBegunRoot);
    EXPECT_EQ(begins.bytes(), 20u);
}

TEST(ProgramBegins, AreBoundedAndStrangersTakeNoPlaceOfWhomIsAskedFirst) {
    ProgramBegins begins(100);
    begins.keep(kOtherBegunRoot, "a", Bytes(40), true);
    begins.keep(kBegunRoot, "solver", Bytes(60), true);
    for (const char* const stranger : {"x", "y", "z"}) begins.keep(kBegunRoot, stranger, Bytes(30), false);
    EXPECT_LE(begins.bytes(), 100u);
    EXPECT_TRUE(begins.take(kOtherBegunRoot, "a").empty()) << "another program goes first";
    EXPECT_EQ(begins.take(kBegunRoot, "solver").size(), 60u);
    for (const char* const stranger : {"x", "y", "z"}) begins.take(kBegunRoot, stranger);
    EXPECT_EQ(begins.bytes(), 0u);
    begins.keep(kBegunRoot, "small", Bytes(40), false);
    begins.keep(kBegunRoot, "large", Bytes(61), false);
    EXPECT_EQ(begins.take(kBegunRoot, "small").size(), 40u) << "who sends much makes no room for itself";
}

}  // namespace
}  // namespace retrace::node
