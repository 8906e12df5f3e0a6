// SPDX-License-Identifier: MIT
#pragma once

#include <source_location>

namespace retrace {

/// Prints the place and `what` and aborts. For broken invariants of our own; no input from outside may reach it.
[[noreturn]] void fail_invariant(const char* what, std::source_location where);

/// The always-on assertion (STYLE 6): stays in release builds.
inline void ensure(bool condition, const char* what,
                   std::source_location where = std::source_location::current()) {
    if (!condition) [[unlikely]] fail_invariant(what, where);
}

}  // namespace retrace
