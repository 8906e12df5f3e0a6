// SPDX-License-Identifier: MIT
// What a process may still do that reads a stranger's file or runs a stranger's program.
#pragma once

#include "merkle/base/result.hpp"

namespace retrace::solver {

/// Whether enter_sandbox() works here: a build with libseccomp, on Linux with seccomp filters.
bool sandbox_is_supported();

/// From now on, and for ever, this process computes in its own memory and reads and writes the files that it holds
/// open. It opens none, makes no socket, starts no program and no other process (threads it may), traces and signals
/// nobody else, and makes no memory executable. Whatever else it asks of the kernel is refused (EPERM), not fatal:
/// LibTorch looks at files that it can do without. Call it before there is a second thread.
Status<> enter_sandbox();

}  // namespace retrace::solver
