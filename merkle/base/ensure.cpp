// SPDX-License-Identifier: MIT
#include "merkle/base/ensure.hpp"

#include <cstdio>
#include <cstdlib>

#include "merkle/base/read_only.hpp"

namespace retrace {
namespace {

thread_local unsigned read_only = 0;  // how many ReadOnly stand

}  // namespace

ReadOnly::ReadOnly() noexcept {
    ++read_only;
}
ReadOnly::~ReadOnly() {
    --read_only;
}

void fail_invariant(const char* what, Place where) {
    if (read_only != 0) {
        throw BrokenInvariant(std::string(what) + " (" + where.file + ":" + std::to_string(where.line) +
                              ", " + where.function + ")");
    }
    std::fprintf(stderr, "invariant broken: %s (%s:%u, %s)\n", what, where.file, where.line, where.function);
    std::abort();
}

}  // namespace retrace
