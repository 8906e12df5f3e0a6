// SPDX-License-Identifier: MIT
#include "node/platform/memory_dumps.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>

namespace retrace::node {

Status<> forbid_memory_dumps() {
    const rlimit none{0, 0};
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || ::setrlimit(RLIMIT_CORE, &none) != 0)
        return error("the kernel does not let this process forbid core files of its memory");
    return Unit{};
}

}  // namespace retrace::node
