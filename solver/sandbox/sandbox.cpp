// SPDX-License-Identifier: MIT
// A system call filter by libseccomp, as an allow-list. No call on the list takes the name of a file, an address or a
// program, so no rules about names are needed.
#include "solver/sandbox/sandbox.hpp"

#include <string>

#if defined(RETRACE_WITH_SECCOMP)
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#endif

namespace retrace::solver {

#if defined(RETRACE_WITH_SECCOMP)
namespace {

/// Calls that are allowed with any arguments: for open files, memory, threads, time and process exit.
constexpr int kAllowed[] = {
    SCMP_SYS(read),
    SCMP_SYS(write),
    SCMP_SYS(readv),
    SCMP_SYS(writev),
    SCMP_SYS(pread64),
    SCMP_SYS(pwrite64),
    SCMP_SYS(lseek),
    SCMP_SYS(close),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(brk),
    SCMP_SYS(madvise),
    SCMP_SYS(futex),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(sched_yield),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep),
    SCMP_SYS(getrandom),
    SCMP_SYS(getrusage),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
};

/// For files that were opened before.
constexpr int kAllowedForFiles[] = {SCMP_SYS(fallocate), SCMP_SYS(ftruncate)};

constexpr std::uint32_t kRefuse = SCMP_ACT_ERRNO(EPERM);

using Filter = std::unique_ptr<void, decltype(&::seccomp_release)>;

/// Condition: none of `bits` is set in an argument.
scmp_arg_cmp without(unsigned argument, scmp_datum_t bits) { return {argument, SCMP_CMP_MASKED_EQ, bits, 0}; }

/// 0, or a negative errno of the first rule that could not be added.
int add_rules(scmp_filter_ctx filter, bool files) {
    int failed = ::seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, kRefuse);
    const auto add = [&](std::uint32_t action, int call, std::initializer_list<scmp_arg_cmp> conditions) {
        if (failed != 0) return;
        failed = ::seccomp_rule_add_array(filter, action, call, static_cast<unsigned>(conditions.size()),
                                          conditions.begin());
    };
    for (const int call : kAllowed) add(SCMP_ACT_ALLOW, call, {});
    if (files)
        for (const int call : kAllowedForFiles) add(SCMP_ACT_ALLOW, call, {});
    // OpenMP and LibTorch start threads when they first compute. A filter cannot read the flags of clone3, which lie in
    // memory. ENOSYS makes libc use clone instead, as on a kernel without clone3.
    add(SCMP_ACT_ALLOW, SCMP_SYS(clone), {{0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD}});
    add(SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), {});
    // MAP_SHARED is refused because RLIMIT_DATA does not count shared memory.
    add(SCMP_ACT_ALLOW, SCMP_SYS(mmap), {without(2, PROT_EXEC), without(3, MAP_SHARED)});
    add(SCMP_ACT_ALLOW, SCMP_SYS(mprotect), {without(2, PROT_EXEC)});
    // abort() signals its own thread.
    add(SCMP_ACT_ALLOW, SCMP_SYS(tgkill), {{0, SCMP_CMP_EQ, static_cast<scmp_datum_t>(::getpid()), 0}});
    return failed;
}

}  // namespace

bool sandbox_is_supported() {
    // For a null filter the kernel returns EFAULT; a kernel without filters returns EINVAL before it reads the pointer.
    return ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr, 0, 0) != 0 && errno == EFAULT;
}

Status<> enter_sandbox(bool files) {
    const Filter filter(::seccomp_init(kRefuse), &::seccomp_release);
    int failed = filter == nullptr ? -ENOMEM : add_rules(filter.get(), files);
    if (failed == 0) failed = ::seccomp_load(filter.get());  // with PR_SET_NO_NEW_PRIVS
    if (failed != 0) return error(std::string("no sandbox: ") + std::strerror(-failed));
    return Unit{};
}
#else
bool sandbox_is_supported() { return false; }
Status<> enter_sandbox(bool) { return error("no sandbox: this build has no libseccomp"); }
#endif

}  // namespace retrace::solver
