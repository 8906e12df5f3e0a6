// SPDX-License-Identifier: MIT
#include "node/platform/memory_dumps.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace retrace::node {
namespace {

/// In a process of its own: there is no way back.
TEST(MemoryDumps, AreForbiddenForTheWholeProcess) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        rlimit limit{};
        const bool forbidden = forbid_memory_dumps() && ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 &&
                               ::getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur == 0 && limit.rlim_max == 0;
        ::_exit(forbidden ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    EXPECT_NE(::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 0) << "this process is as before";
}

}  // namespace
}  // namespace retrace::node
