// SPDX-License-Identifier: MIT
#include "merkle/base/ensure.hpp"

#include <cstdio>
#include <cstdlib>

namespace retrace {

void fail_invariant(const char* what, std::source_location where) {
    std::fprintf(stderr, "invariant broken: %s (%s:%u, %s)\n", what, where.file_name(),
                 static_cast<unsigned>(where.line()), where.function_name());
    std::abort();
}

}  // namespace retrace
