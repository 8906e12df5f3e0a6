// SPDX-License-Identifier: MIT
// Memory that must not leave the process.
#pragma once

#include "merkle/base/result.hpp"

namespace retrace::node {

/// From now on the kernel writes no core file of this process, nor pipes one to a handler, and no other process of the same
/// user reads its memory (prctl(2), PR_SET_DUMPABLE). Child processes that start another program do not inherit it.
Status<> forbid_memory_dumps();

}  // namespace retrace::node
