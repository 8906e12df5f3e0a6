// SPDX-License-Identifier: MIT
// amx_tiles: products by the AMX unit have the bits of the reference, and the same comparison sees a unit that
// is used wrongly. Status 77 where there is no AMX.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "kernels/runtime/dispatch.hpp"
#include "kernels/runtime/thread_pool.hpp"
#include "kernels/scalar/scalar.hpp"
#include "tests/emulation/wrong_tiles.hpp"

namespace retrace::kernels {

namespace {

constexpr Precision kPrecisions[] = {Precision::i8x1, Precision::i8x2, Precision::i8x3};
constexpr std::uint64_t kRows = 37, kCols = 49, kDepth = 600;  // more than one tile and block, and rests of each

std::vector<float> values(std::uint64_t count, std::uint64_t seed) {
    std::vector<float> out(count);
    for (float& x : out) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x = (static_cast<float>(seed >> 40) - 8388608.0f) * 0x1p-23f;
    }
    return out;
}

std::uint64_t different(const std::vector<float>& a, const std::vector<float>& b) {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < a.size(); ++i) count += to_bits(a[i]) != to_bits(b[i]) ? 1 : 0;
    return count;
}

/// Whether the unit is still configured: XGETBV with 1 says which state components are not in their initial state, and
/// 17 is the tiles' configuration.
bool configured() {
    std::uint32_t low = 0;
#if defined(__x86_64__)
    std::uint32_t high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
#endif
    return (low & (1u << 17)) != 0;
}

bool as_expected(const TilesCase& tiles, Precision precision, unsigned threads) {
    const std::vector<float> a = values(kRows * kDepth, 1), b = values(kDepth * kCols, 2);
    const MatrixView view_a{a.data(), kRows, kDepth, kDepth}, view_b{b.data(), kDepth, kCols, kCols};
    std::vector<float> want(kRows * kCols), got(kRows * kCols);
    matmul_reference(precision, view_a, view_b, want.data(), kCols);
    ThreadPool pool(threads);
    matmul_tiled(*tiles.kernel(precision), view_a, view_b, got.data(), kCols, pool);
    const std::uint64_t wrong = different(got, want);
    const bool ok = tiles.right == (wrong == 0) && !configured();
    std::printf("%s %s, precision %d, %u threads: %llu of %llu elements differ%s\n", ok ? "ok" : "FAILED", tiles.name,
                static_cast<int>(precision), threads, static_cast<unsigned long long>(wrong),
                static_cast<unsigned long long>(want.size()), configured() ? ", still configured" : "");
    return ok;
}

int run() {
    if (cpu_levels().back() != CpuLevel::amx) {
        std::puts("SKIP: no AMX; a processor with it runs this, or emulation.amx_in_bochs (./dev test --slow)");
        return 77;
    }
    int failed = 0;
    for (const TilesCase& tiles : tiles_cases) {
        for (const Precision precision : kPrecisions) {
            for (const unsigned threads : {1u, 3u}) failed += as_expected(tiles, precision, threads) ? 0 : 1;
        }
    }
    std::printf("%d failed\n", failed);
    return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace retrace::kernels

int main() { return retrace::kernels::run(); }
