// SPDX-License-Identifier: MIT
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace retrace::testing {

/// Makes this process behave like one on a kernel without seccomp filters: installing one returns EINVAL.
inline void forget_filters() {
    constexpr auto kNumber = offsetof(seccomp_data, nr), kFirst = offsetof(seccomp_data, args);
    sock_filter code[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, kNumber},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_prctl},
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, kFirst},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, PR_SET_SECCOMP},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EINVAL},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    const sock_fprog program{sizeof code / sizeof *code, code};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) != 0) {
        ::_exit(99);
    }
}

}  // namespace retrace::testing
