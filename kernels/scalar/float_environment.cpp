// SPDX-License-Identifier: MIT
#include "kernels/scalar/float_environment.hpp"

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <cfenv>
#endif

namespace retrace::kernels {
namespace {

#if defined(__x86_64__)
constexpr std::uint64_t kFlags = 0x3f;       ///< Sticky exception flags; they affect no result.
constexpr std::uint64_t kContract = 0x1f80;  ///< All exceptions masked, nearest even, neither FTZ nor DAZ.
std::uint64_t control() { return __builtin_ia32_stmxcsr(); }
void set_control(std::uint64_t value) { __builtin_ia32_ldmxcsr(static_cast<std::uint32_t>(value)); }
#elif defined(__aarch64__)
constexpr std::uint64_t kFlags = 0;
constexpr std::uint64_t kContract = 0;
std::uint64_t control() {
    std::uint64_t value;
    __asm__ volatile("mrs %0, fpcr" : "=r"(value));
    return value;
}
void set_control(std::uint64_t value) { __asm__ volatile("msr fpcr, %0" : : "r"(value) : "memory"); }
#else
constexpr std::uint64_t kFlags = 0;
constexpr std::uint64_t kContract = FE_TONEAREST;
std::uint64_t control() { return static_cast<std::uint64_t>(std::fegetround()); }
void set_control(std::uint64_t value) { std::fesetround(static_cast<int>(value)); }
#endif

bool is_contract(std::uint64_t value) { return (value & ~kFlags) == kContract; }

}  // namespace

// Reading the register costs a few cycles and writing it some tens, so it is written only if it differs.
FloatEnvironment::FloatEnvironment() noexcept : before_(control()) {
    if (!is_contract(before_)) set_control(kContract);
}

FloatEnvironment::~FloatEnvironment() {
    if (!is_contract(before_)) set_control(before_);
}

}  // namespace retrace::kernels
