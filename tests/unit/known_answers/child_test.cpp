// SPDX-License-Identifier: MIT
#include "kernels/tools/child.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace retrace::kernels::tools {
namespace {

TEST(Child, GivesWhatTheBodyReturned) {
    EXPECT_EQ(in_child([] { return std::string(); }), "");
    EXPECT_EQ(in_child([] { return std::string("element 3"); }), "element 3");
    const std::string long_text(1 << 20, 'x');  // More than a pipe can hold.
    EXPECT_EQ(in_child([&] { return long_text; }), long_text);
}

TEST(Child, LeavesThisProcessAsItIs) {
    unsetenv("RETRACE_CHILD_TEST");
    EXPECT_EQ(in_child([] {
                  setenv("RETRACE_CHILD_TEST", "set", 1);
                  std::string seen;
                  std::thread([&] { seen = getenv("RETRACE_CHILD_TEST"); }).join();
                  return seen;
              }),
              "set");
    EXPECT_EQ(getenv("RETRACE_CHILD_TEST"), nullptr);
}

TEST(Child, NoEndOfTheBodyLooksLikeAnEmptyAnswer) {
    EXPECT_EQ(in_child([]() -> std::string { throw std::runtime_error("no memory"); }), "an exception: no memory");
    EXPECT_THAT(in_child([]() -> std::string {
                    raise(SIGKILL);
                    return "";
                }),
                ::testing::StartsWith("ended by signal 9 ("));
    EXPECT_EQ(in_child([]() -> std::string { _exit(0); }), "ended with status 0 and no answer");
    EXPECT_EQ(in_child([]() -> std::string { _exit(2); }), "ended with status 2 and no answer");
}

}  // namespace
}  // namespace retrace::kernels::tools
