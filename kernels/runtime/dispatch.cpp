// SPDX-License-Identifier: MIT
#include "kernels/runtime/dispatch.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace retrace::kernels {

namespace {

#if defined(__x86_64__)
constexpr CpuLevel kLevels[] = {CpuLevel::scalar, CpuLevel::avx2, CpuLevel::avxvnni,
                                CpuLevel::avx512, CpuLevel::vnni, CpuLevel::amx};

bool has_avxvnni() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned kAvxVnni = 1u << 4;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kAvxVnni) != 0;
}

bool has_amx_units() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
    constexpr unsigned kTile = 1u << 24, kInt8 = 1u << 25;
    return (d & kTile) != 0 && (d & kInt8) != 0;
}

// Linux grants the 8 KiB of tile state on request; one request covers all threads of the process.
bool enable_amx() {
#if defined(__linux__)
    constexpr long kRequestPermission = 0x1023, kTileData = 18;
    return has_amx_units() && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
    return false;
#endif
}

bool supports(CpuLevel level) {
    switch (level) {
        case CpuLevel::scalar: return true;
        case CpuLevel::avx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
        case CpuLevel::avxvnni: return has_avxvnni();
        case CpuLevel::avx512:
            return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
        case CpuLevel::vnni: return __builtin_cpu_supports("avx512vnni");
        case CpuLevel::amx: return enable_amx();
        default: return false;
    }
}

/// Whether the levels above include `level`, so that a processor without it has none of them.
bool is_step(CpuLevel level) { return level != CpuLevel::avxvnni; }
#elif defined(__aarch64__)
constexpr CpuLevel kLevels[] = {CpuLevel::scalar, CpuLevel::neon, CpuLevel::dotprod, CpuLevel::i8mm};

bool supports(CpuLevel level) {
#if defined(__linux__)
    switch (level) {
        case CpuLevel::dotprod: return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
        case CpuLevel::i8mm: return (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
        default: break;
    }
#endif
    return level == CpuLevel::scalar || level == CpuLevel::neon;
}

bool is_step(CpuLevel) { return true; }
#else
constexpr CpuLevel kLevels[] = {CpuLevel::scalar};
bool supports(CpuLevel) { return true; }
bool is_step(CpuLevel) { return true; }
#endif

CpuLevel choose() {
    const std::vector<CpuLevel> levels = cpu_levels();
    const char* wanted = std::getenv("RETRACE_CPU");
    if (wanted == nullptr || *wanted == '\0') return levels.back();
    for (const CpuLevel level : levels) {
        if (name_of(level) == wanted) return level;
    }
    std::fprintf(stderr, "RETRACE_CPU=%s: not an instruction set of this machine; it has", wanted);
    for (const CpuLevel level : levels) std::fprintf(stderr, " %s", name_of(level).data());
    std::fputc('\n', stderr);
    std::exit(2);
}

}  // namespace

std::string_view name_of(CpuLevel level) noexcept {
    switch (level) {
        case CpuLevel::scalar: return "scalar";
        case CpuLevel::avx2: return "avx2";
        case CpuLevel::avxvnni: return "avxvnni";
        case CpuLevel::avx512: return "avx512";
        case CpuLevel::vnni: return "vnni";
        case CpuLevel::amx: return "amx";
        case CpuLevel::neon: return "neon";
        case CpuLevel::dotprod: return "dotprod";
        case CpuLevel::i8mm: return "i8mm";
    }
    return "unknown";
}

std::vector<CpuLevel> cpu_levels() {
    static const std::vector<CpuLevel> levels = [] {
        std::vector<CpuLevel> found;
        for (const CpuLevel level : kLevels) {
            if (supports(level))
                found.push_back(level);
            else if (is_step(level))
                break;
        }
        return found;
    }();
    return levels;
}

CpuLevel cpu_level() {
    static const CpuLevel level = choose();
    return level;
}

}  // namespace retrace::kernels
