// SPDX-License-Identifier: MIT
#pragma once

namespace retrace {

/// The source location of a call. std::source_location would do, but clang 14 lacks the builtin behind libstdc++'s.
struct Place {
    const char* file;
    unsigned line;
    const char* function;

    static constexpr Place here(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE(),
                                const char* function = __builtin_FUNCTION()) noexcept {
        return {file, line, function};
    }
};

/// Aborts, or throws within a NonFatalScope (non_fatal.hpp). For broken internal invariants only: no input may reach
/// it.
[[noreturn]] void fail_invariant(const char* what, Place where);

/// An assertion that stays enabled in release builds.
inline void ensure(bool condition, const char* what, Place where = Place::here()) {
    if (!condition) [[unlikely]]
        fail_invariant(what, where);
}

}  // namespace retrace
