// SPDX-License-Identifier: MIT
// Restricts the system calls of a process that reads a stranger's file or runs a stranger's program.
#pragma once

#include "merkle/base/result.hpp"

namespace retrace::solver {

/// Whether enter_sandbox() works here: a build with libseccomp, on Linux with seccomp filters.
bool sandbox_is_supported();

/// Restricts this process for the rest of its life: it may use its own memory, start threads, and read and write its
/// open files. It cannot open files, create sockets, start programs or processes, trace or signal other processes, or
/// make memory executable. All other system calls fail with EPERM instead of ending the process, because LibTorch tries
/// to open files that it can do without. With `files` it may also give its open files a size and room on their disk. Must
/// be called before a second thread is started.
Status<> enter_sandbox(bool files = false);

}  // namespace retrace::solver
