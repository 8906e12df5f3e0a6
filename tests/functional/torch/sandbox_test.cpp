// SPDX-License-Identifier: MIT
// Restrictions of a process that reads a stranger's model. Each attempt is made twice: it must succeed outside
// (otherwise its failure inside would prove nothing), and fail inside.
#include "solver/sandbox/sandbox.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "solver/torch/confined.hpp"
#include "tests/functional/torch/temporary_folder.hpp"

namespace retrace::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Returns the kernel's error number, 0 for none.
using Attempt = std::function<int()>;

int error_of(long result) { return result < 0 ? errno : 0; }

class Sandbox : public ::testing::Test {
protected:
    void SetUp() override {
        if (!solver::sandbox_is_supported()) {
            GTEST_SKIP() << "SKIP: this kernel has no seccomp filters; one with CONFIG_SECCOMP_FILTER runs this";
        }
    }
    static std::string confined(const Attempt& attempt, bool sandbox) {
        solver::Allowance allowance;
        allowance.file_bytes = 1 << 20;
        allowance.wall_seconds = 60;
        allowance.sandbox = sandbox;
        const auto done = solver::run_confined(allowance, [&]() -> Status<> {
            const int failure = attempt();
            if (failure != 0) return error(std::string("error ") + strerrorname_np(failure));
            return Unit{};
        });
        return done ? "done" : done.error().message;
    }
    static void expect_refused(const Attempt& attempt, const std::string& how = "error EPERM") {
        EXPECT_EQ(confined(attempt, false), "done") << "outside";
        EXPECT_EQ(confined(attempt, true), how);
    }
    const TemporaryFolder folder;
};

TEST_F(Sandbox, OpensNoFileToRead) {
    expect_refused([] { return error_of(::open("/etc/passwd", O_RDONLY)); });
    expect_refused([] { return error_of(::syscall(SYS_openat, AT_FDCWD, "/proc/self/environ", O_RDONLY)); });
    struct stat about {};
    expect_refused([&] { return error_of(::stat("/etc/passwd", &about)); });
}

TEST_F(Sandbox, OpensMakesRenamesAndRemovesNoFile) {
    const std::string name = folder / "new", other = folder / "other";
    expect_refused([&] { return error_of(::open(name.c_str(), O_WRONLY | O_CREAT, 0600)); });
    expect_refused([&] { return error_of(::mkdir((name + ".folder").c_str(), 0700)); });
    expect_refused([&] {
        const int failure = error_of(::rename(name.c_str(), other.c_str()));
        return failure != 0 ? failure : error_of(::rename(other.c_str(), name.c_str()));
    });
    expect_refused([&] { return error_of(::chmod(name.c_str(), 0700)); });
    EXPECT_EQ(confined([&] { return error_of(::unlink(name.c_str())); }, true), "error EPERM");
    EXPECT_TRUE(fs::exists(name));
}

TEST_F(Sandbox, MakesNoSocket) {
    for (const int family : {AF_INET, AF_INET6, AF_UNIX, AF_NETLINK}) {
        if (const int made = ::socket(family, SOCK_DGRAM, 0); made < 0) continue;
        expect_refused([=] { return error_of(::socket(family, SOCK_DGRAM, 0)); });
    }
    expect_refused([] {
        int pair[2];
        return error_of(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    });
}

TEST_F(Sandbox, StartsNoProgramAndNoProcess) {
    const Attempt forks = [] {
        const pid_t child = ::fork();
        if (child == 0) ::_exit(0);
        return error_of(child);
    };
    expect_refused(forks);
    EXPECT_EQ(confined([] { return error_of(::execl("/bin/true", "true", nullptr)); }, false), "done");
    EXPECT_EQ(confined([] { return error_of(::execl("/bin/true", "true", nullptr)); }, true), "error EPERM");
    expect_refused([] { return std::system("exit 0") == 0 ? 0 : EPERM; });
}

TEST_F(Sandbox, TracesAndSignalsNobody) {
    expect_refused([] { return error_of(::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr)); });
    expect_refused([] { return error_of(::kill(::getppid(), 0)); });
    expect_refused([] { return error_of(::syscall(SYS_tgkill, ::getppid(), ::getppid(), 0)); });
    EXPECT_EQ(confined([] { return error_of(::syscall(SYS_tgkill, ::getpid(), ::getpid(), 0)); }, true), "done");
    char theirs = 0;
    iovec here{&theirs, 1}, there{&theirs, 1};
    expect_refused([&] { return error_of(::syscall(SYS_process_vm_readv, ::getpid(), &here, 1, &there, 1, 0)); });
}

TEST_F(Sandbox, MakesNoCodeAndNoMemoryThatNobodyCounts) {
    const auto map = [](int protection, int sharing = MAP_PRIVATE) {
        void* const page = ::mmap(nullptr, 4096, protection, sharing | MAP_ANONYMOUS, -1, 0);
        return page == MAP_FAILED ? errno : 0;
    };
    expect_refused([&] { return map(PROT_READ | PROT_EXEC); });
    expect_refused([&] { return map(PROT_READ | PROT_WRITE, MAP_SHARED); });
    expect_refused([] {
        void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return error_of(::mprotect(page, 4096, PROT_READ | PROT_EXEC));
    });
    EXPECT_EQ(confined([&] { return map(PROT_READ | PROT_WRITE); }, true), "done");
}

TEST_F(Sandbox, RaisesNoLimit) {
    expect_refused([] {
        rlimit limit{};
        const int failure = error_of(::getrlimit(RLIMIT_NOFILE, &limit));
        return failure != 0 ? failure : error_of(::setrlimit(RLIMIT_NOFILE, &limit));
    });
}

#if defined(__x86_64__)
/// The kernel has two more system call tables on this processor, with other numbers.
TEST_F(Sandbox, CallsOfOtherTablesAreRefused) {
    constexpr long kX32 = 0x40000000;
    EXPECT_EQ(confined([] { return error_of(::syscall(kX32 + SYS_getpid)); }, true), "error EPERM");
    const Attempt old = [] {
        long number = 20;  // getpid of i386, which a filter for x86-64 would take for writev.
        asm volatile("int $0x80" : "+a"(number) : : "memory", "r8", "r9", "r10", "r11");
        return number < 0 ? static_cast<int>(-number) : 0;
    };
    // Not every kernel has that table.
    if (confined(old, false) == "done") {
        EXPECT_EQ(confined(old, true), "error EPERM");
    }
}
#endif

TEST_F(Sandbox, ThreadsMemoryAndOpenFilesRemain) {
    std::ofstream out(folder / "out", std::ios::binary);
    const Attempt work = [&] {
        std::vector<int> numbers(1 << 20, 1);
        std::thread([&] { numbers[7] = 2; }).join();
        out << "written in a sandbox" << numbers[7] << std::flush;
        return out ? 0 : EIO;
    };
    EXPECT_EQ(confined(work, true), "done");
    std::ifstream in(folder / "out");
    const std::string written{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(written, "written in a sandbox2");
}

TEST_F(Sandbox, AFileGrowsNoLongerThanAllowed) {
    std::ofstream out(folder / "out", std::ios::binary);
    const Attempt work = [&] {
        const std::string much(1 << 20, 'x');
        out << much << std::flush;
        if (!out) return EIO;
        out << 'x' << std::flush;
        return out ? 0 : EFBIG;
    };
    EXPECT_EQ(confined(work, true), "error EFBIG");
    EXPECT_EQ(fs::file_size(folder / "out"), 1u << 20);
}

std::string run(std::uint64_t seconds, const std::function<Status<>()>& work) {
    solver::Allowance allowance;
    allowance.file_bytes = 1 << 20;
    allowance.wall_seconds = seconds;
    allowance.sandbox = solver::sandbox_is_supported();
    const auto done = solver::run_confined(allowance, work);
    return done ? "done" : done.error().message;
}

TEST(Confined, ErrorsComeBackAsOneLineOfPlainText) {
    EXPECT_EQ(run(60,
                  []() -> Status<> {
                      return error(
                          "a\x1b[2Jb\nc\xc2\x9b"
                          "d\x7f");
                  }),
              "a?[2Jb?c??d?");
    EXPECT_EQ(run(60, []() -> Status<> { return error(std::string(100000, 'x')); }).size(), 4096u);
}

TEST(Confined, WhoeverNeverEndsIsEnded) {
    const auto sleep = []() -> Status<> {
        std::this_thread::sleep_for(std::chrono::hours(1));
        return Unit{};
    };
    EXPECT_THAT(run(1, sleep), HasSubstr("more time or memory"));
    // It closes the pipe first, which must not count as its end.
    const auto closes = [&]() -> Status<> {
        for (int i = 3; i < 64; ++i) ::close(i);
        return sleep();
    };
    EXPECT_THAT(run(1, closes), HasSubstr("more time or memory"));
}

TEST(Confined, SignalsAndSilentEndsAreFailures) {
    EXPECT_THAT(run(60, []() -> Status<> { std::abort(); }), HasSubstr("signal 6"));
    EXPECT_THAT(run(60, []() -> Status<> { ::_exit(1); }), HasSubstr("LibTorch ended"));
}

TEST(Confined, NothingReachesTheStandardStreams) {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const std::string said = run(60, []() -> Status<> {
        std::ignore = ::write(STDOUT_FILENO, "theirs", 6);
        std::ignore = ::write(STDERR_FILENO, "theirs", 6);
        return Unit{};
    });
    EXPECT_EQ(::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(said, "done");
}

}  // namespace
}  // namespace retrace::testing
