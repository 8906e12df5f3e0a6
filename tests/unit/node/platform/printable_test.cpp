// SPDX-License-Identifier: MIT
// What text of strangers may do to a terminal: nothing.
#include "node/platform/printable.hpp"

#include <gtest/gtest.h>

namespace retrace::node {
namespace {

TEST(Printable, ReplacesControlCharacters) {
    EXPECT_EQ(printable("a\033]0;x\007b\n\t\x7f"), "a?]0;x?b???");
    EXPECT_EQ(printable("a\xc2\x9b"
                        "31m"),
              "a??31m")
        << "CSI in one character of UTF-8";
    EXPECT_EQ(printable_lines("a\n  b\033[1m\r"), "a\n  b?[1m?");
}

TEST(Printable, ReplacesWhatChangesTheDirectionOfText) {
    EXPECT_EQ(printable("a\u202eb"), "a???b");
    EXPECT_EQ(printable("\u202a\u2066\u2069"), "?????????");
}

TEST(Printable, LeavesOtherText) {
    for (const std::string text : {"", "plain", "\u00e4\u20ac\u2029\u202f\u2065\u206a", "\xe2", "\xe2\x80", "\xc2"})
        EXPECT_EQ(printable(text), text);
}

}  // namespace
}  // namespace retrace::node
