// SPDX-License-Identifier: MIT
#include "merkle/base/ensure.hpp"

#include <cstdio>
#include <cstdlib>

#include "merkle/base/non_fatal.hpp"

namespace retrace {
namespace {

thread_local unsigned scopes = 0;  // number of live NonFatalScopes

}  // namespace

NonFatalScope::NonFatalScope() noexcept { ++scopes; }
NonFatalScope::~NonFatalScope() { --scopes; }

void fail_invariant(const char* what, Place where) {
    if (scopes != 0) {
        throw BrokenInvariant(std::string(what) + " (" + where.file + ":" + std::to_string(where.line) + ", " +
                              where.function + ")");
    }
    std::fprintf(stderr, "invariant broken: %s (%s:%u, %s)\n", what, where.file, where.line, where.function);
    std::abort();
}

}  // namespace retrace
