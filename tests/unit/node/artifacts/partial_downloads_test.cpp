// SPDX-License-Identifier: MIT
#include "node/artifacts/partial_downloads.hpp"

#include <gtest/gtest.h>

namespace retrace::node {
namespace {

const Hash32 kPartialRoot{{1}}, kOtherPartialRoot{{2}};

TEST(PartialProgramDownloads, BelongToOnePeerAndOneProgram) {
    PartialProgramDownloads downloads(100);
    downloads.keep(kPartialRoot, "a", Bytes(10, 1), true);
    downloads.keep(kPartialRoot, "b", {}, true);
    EXPECT_TRUE(downloads.take(kPartialRoot, "b").empty());
    EXPECT_TRUE(downloads.take(kOtherPartialRoot, "a").empty());
    EXPECT_EQ(downloads.take(kPartialRoot, "a"), Bytes(10, 1));
    EXPECT_TRUE(downloads.take(kPartialRoot, "a").empty()) << "it was taken";
    downloads.keep(kPartialRoot, "a", Bytes(10), true);
    downloads.keep(kOtherPartialRoot, "a", Bytes(20), true);
    downloads.forget(kPartialRoot);
    EXPECT_EQ(downloads.bytes(), 20u);
}

TEST(PartialProgramDownloads, AreBoundedAndStrangersTakeNoPlaceOfWhomIsAskedFirst) {
    PartialProgramDownloads downloads(100);
    downloads.keep(kOtherPartialRoot, "a", Bytes(40), true);
    downloads.keep(kPartialRoot, "solver", Bytes(60), true);
    for (const char* const stranger : {"x", "y", "z"}) downloads.keep(kPartialRoot, stranger, Bytes(30), false);
    EXPECT_LE(downloads.bytes(), 100u);
    EXPECT_TRUE(downloads.take(kOtherPartialRoot, "a").empty()) << "another program goes first";
    EXPECT_EQ(downloads.take(kPartialRoot, "solver").size(), 60u);
    for (const char* const stranger : {"x", "y", "z"}) downloads.take(kPartialRoot, stranger);
    EXPECT_EQ(downloads.bytes(), 0u);
    downloads.keep(kPartialRoot, "small", Bytes(40), false);
    downloads.keep(kPartialRoot, "large", Bytes(61), false);
    EXPECT_EQ(downloads.take(kPartialRoot, "small").size(), 40u) << "who sends much makes no room for itself";
}

}  // namespace
}  // namespace retrace::node
