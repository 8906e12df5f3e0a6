// SPDX-License-Identifier: MIT
#include "node/platform/memory_trim.hpp"

#include <malloc.h>

namespace retrace::node::rpc {

void MemoryTrim::run() noexcept { ::malloc_trim(0); }

}  // namespace retrace::node::rpc
