// SPDX-License-Identifier: MIT
// `retrace task compile` of a TorchScript file on a kernel that cannot sandbox the reader.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include "tests/functional/task_fixture.hpp"
#include "tests/functional/torch/no_filters.hpp"
#include "tests/functional/torch/torch_peer.hpp"

namespace retrace::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class SandboxOfFiles : public TaskTest {
protected:
    /// Runs `retrace task compile MODEL ARGUMENTS` on such a kernel.
    Ran compiled(const std::string& arguments) const {
        const std::string command = std::string(RETRACE_PROGRAM) + " task compile " + arguments +
                                    " --batch 16 --steps 1 --data " + small_images(32).string() + " -o " +
                                    path("task").string() + " >" + path("out").string() + " 2>" + path("err").string();
        const pid_t child = ::fork();
        if (child == 0) {
            forget_filters();
            const int status = std::system(command.c_str());
            ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 98);
        }
        Ran ran;
        int status = 0;
        ::waitpid(child, &status, 0);
        ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        std::ifstream said(path("err"));
        ran.err.assign(std::istreambuf_iterator<char>(said), {});
        return ran;
    }
};

TEST_F(SandboxOfFiles, IsMissedAloudAndOnce) {
    make_model("mlp", path("model.pt"));
    const Ran ran = compiled(path("model.pt").string());
    EXPECT_EQ(ran.status, 0) << ran.err;
    const std::string warning = "warning: no sandbox: ";
    EXPECT_THAT(ran.err, HasSubstr(warning));
    EXPECT_EQ(ran.err.find(warning), ran.err.rfind(warning));
}

TEST_F(SandboxOfFiles, IsHadOrNothingIsReadWhereItIsRequired) {
    make_model("mlp", path("model.pt"));
    const Ran ran = compiled(path("model.pt").string() + " --require-sandbox");
    EXPECT_EQ(ran.status, 1);
    EXPECT_THAT(ran.err, AllOf(HasSubstr("no sandbox: this kernel has no seccomp filters"),
                               HasSubstr("CONFIG_SECCOMP_FILTER"), Not(HasSubstr("warning"))));
    EXPECT_FALSE(fs::exists(path("task")));
}

TEST_F(SandboxOfFiles, IsNoneOfTheBuiltInModels) {
    const Ran ran = compiled("mlp --require-sandbox");
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(ran.err, "");
}

}  // namespace
}  // namespace retrace::testing
