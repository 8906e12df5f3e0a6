// SPDX-License-Identifier: MIT
#include "merkle/base/ensure.hpp"

#include <cstdio>
#include <cstdlib>

namespace retrace {

void fail_invariant(const char* what, Place where) {
    std::fprintf(stderr, "invariant broken: %s (%s:%u, %s)\n", what, where.file, where.line,
                 where.function);
    std::abort();
}

}  // namespace retrace
