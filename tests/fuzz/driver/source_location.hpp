// SPDX-License-Identifier: MIT
// clang 14 lacks the builtin behind libstdc++'s std::source_location. The fuzz preset includes this file before every
// other, so that clang 14 compiles what g++ 12 does. Newer compilers see the standard header alone.
#pragma once

#include <source_location>

#if !__has_builtin(__builtin_source_location)
#include <cstdint>

namespace std {

struct source_location {
    static constexpr source_location current(const char* file = __builtin_FILE(),
                                             const char* function = __builtin_FUNCTION(),
                                             uint_least32_t line = __builtin_LINE()) noexcept {
        source_location out;
        out.file_ = file;
        out.function_ = function;
        out.line_ = line;
        return out;
    }
    constexpr const char* file_name() const noexcept { return file_; }
    constexpr const char* function_name() const noexcept { return function_; }
    constexpr uint_least32_t line() const noexcept { return line_; }
    constexpr uint_least32_t column() const noexcept { return 0; }

private:
    const char* file_ = "";
    const char* function_ = "";
    uint_least32_t line_ = 0;
};

}  // namespace std
#endif
