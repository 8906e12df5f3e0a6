// SPDX-License-Identifier: MIT
// A seccomp filter: a program that the kernel runs at each system call (seccomp(2)). It lists what is allowed. Nothing
// on the list takes the name of a file, an address or a program, so no rule about names is needed beside it.
#include "solver/torch/sandbox.hpp"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace retrace::solver {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__) && defined(__AARCH64EL__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
constexpr std::uint32_t kArchitecture = 0;
#endif

/// Allowed whatever their arguments are: open files, memory, threads, time, the end. Numbers above these, of x86-64's
/// second table (x32) too, are on no list.
constexpr std::uint32_t kAllowed[] = {
    SYS_read,         SYS_write,           SYS_readv,           SYS_writev,          SYS_pread64,
    SYS_pwrite64,     SYS_lseek,           SYS_close,           SYS_munmap,          SYS_mremap,
    SYS_brk,          SYS_madvise,         SYS_futex,           SYS_set_robust_list, SYS_rseq,
    SYS_sched_yield,  SYS_sched_getaffinity, SYS_rt_sigaction,  SYS_rt_sigprocmask,  SYS_rt_sigreturn,
    SYS_sigaltstack,  SYS_restart_syscall, SYS_getpid,          SYS_gettid,          SYS_clock_gettime,
    SYS_gettimeofday, SYS_clock_nanosleep, SYS_nanosleep,       SYS_getrandom,       SYS_getrusage,
    SYS_exit,         SYS_exit_group,
};

constexpr std::uint32_t kAllow = SECCOMP_RET_ALLOW, kRefuse = SECCOMP_RET_ERRNO | EPERM;

/// The lower half of an argument; both architectures are little endian.
constexpr std::uint32_t argument(std::size_t i) {
    return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + 8 * i);
}

class Filter {
public:
    Filter() {
        load(offsetof(seccomp_data, arch));
        add(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0);
        answer(kRefuse);
        load(offsetof(seccomp_data, nr));
    }

    void allow(std::uint32_t call) {
        add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
        answer(kAllow);
    }
    void allow_with_bits(std::uint32_t call, std::size_t which, std::uint32_t bits) {
        add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4);
        load(argument(which));
        add(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
        answer(kAllow);
        answer(kRefuse);
    }
    /// A later line may still allow what has none of these bits.
    void refuse_with_bits(std::uint32_t call, std::size_t which, std::uint32_t bits) {
        add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4);
        load(argument(which));
        add(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
        answer(kRefuse);
        load(offsetof(seccomp_data, nr));
    }
    void allow_if_equal(std::uint32_t call, std::size_t which, std::uint32_t value) {
        add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 4);
        load(argument(which));
        add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
        answer(kAllow);
        answer(kRefuse);
    }
    /// As a kernel that does not know the call.
    void deny_as_unknown(std::uint32_t call) {
        add(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
        answer(SECCOMP_RET_ERRNO | ENOSYS);
    }
    void answer(std::uint32_t verdict) { add(BPF_RET | BPF_K, verdict, 0, 0); }
    std::vector<sock_filter>& code() { return code_; }

private:
    void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset), 0, 0); }
    void add(int code, std::uint32_t k, int if_true, int if_false) {
        code_.push_back({static_cast<std::uint16_t>(code), static_cast<std::uint8_t>(if_true),
                         static_cast<std::uint8_t>(if_false), k});
    }

    std::vector<sock_filter> code_;
};

Filter make_filter() {
    Filter out;
    for (const std::uint32_t call : kAllowed) out.allow(call);
    // OpenMP and LibTorch start threads when they first compute. The flags of clone3 lie in memory, where no filter
    // sees them; libc then takes clone.
    out.allow_with_bits(SYS_clone, 0, CLONE_THREAD);
    out.deny_as_unknown(SYS_clone3);
    // Shared memory is not counted by the limit on this process's data.
    out.refuse_with_bits(SYS_mmap, 2, PROT_EXEC);
    out.refuse_with_bits(SYS_mmap, 3, MAP_SHARED);
    out.allow(SYS_mmap);
    out.refuse_with_bits(SYS_mprotect, 2, PROT_EXEC);
    out.allow(SYS_mprotect);
    // abort() signals its own thread.
    out.allow_if_equal(SYS_tgkill, 0, static_cast<std::uint32_t>(::getpid()));
    out.answer(kRefuse);
    return out;
}

}  // namespace

bool sandbox_is_supported() {
    // Without a filter to read the answer is EFAULT; a kernel that knows no filters says EINVAL before it looks.
    return kArchitecture != 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, nullptr, 0, 0) != 0 && errno == EFAULT;
}

Status<> enter_sandbox() {
    if (kArchitecture == 0) return error("no sandbox for this architecture");
    Filter filter = make_filter();
    const sock_fprog program{static_cast<unsigned short>(filter.code().size()), filter.code().data()};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) {
        return error(std::string("no sandbox: ") + std::strerror(errno));
    }
    return Unit{};
}

}  // namespace retrace::solver
