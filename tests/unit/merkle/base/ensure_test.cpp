// SPDX-License-Identifier: MIT
#include "merkle/base/ensure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "merkle/base/non_fatal.hpp"

namespace retrace {
namespace {

using EnsureDeathTest = testing::Test;

TEST(EnsureDeathTest, AbortsWhereABlockIsMade) {
    EXPECT_DEATH(ensure(false, "a rule"), "invariant broken: a rule .*ensure_test.cpp");
    EXPECT_DEATH(
        {
            { const NonFatalScope question; }
            ensure(false, "a rule");
        },
        "invariant broken: a rule");
}

TEST(EnsureDeathTest, AQuestionOfOneThreadSavesNoOther) {
    const NonFatalScope question;
    EXPECT_DEATH(std::thread([] { ensure(false, "a rule"); }).join(), "invariant broken: a rule");
}

TEST(Ensure, EndsAQuestionAndNotTheProcess) {
    const NonFatalScope question;
    { const NonFatalScope within; }
    try {
        ensure(false, "a rule");
        FAIL();
    } catch (const BrokenInvariant& broken) {
        EXPECT_THAT(broken.what(), testing::HasSubstr("a rule ("));
        EXPECT_THAT(broken.what(), testing::HasSubstr("ensure_test.cpp:"));
    }
    ensure(true, "a rule");
}

}  // namespace
}  // namespace retrace
