// SPDX-License-Identifier: MIT
// Compares every back end of this machine with the reference bit by bit: shapes, strides, kinds of data, thread counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "kernels/matmul/backend.hpp"
#include "kernels/matmul/engine.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/matmul/slices.hpp"
#include "kernels/runtime/thread_pool.hpp"
#include "kernels/scalar/scalar.hpp"

namespace retrace::kernels {

const MatmulKernel* matmul_kernel_emulated_amx(Precision precision);  // numerics_emulated_amx.cpp

namespace {

enum class ValueKind { normal, heavy, wide, subnormal, signed_zeros, special, ties };
constexpr ValueKind kData[] = {ValueKind::normal,       ValueKind::heavy,   ValueKind::wide, ValueKind::subnormal,
                               ValueKind::signed_zeros, ValueKind::special, ValueKind::ties};
constexpr Precision kPrecisions[] = {Precision::f32, Precision::i8x1, Precision::i8x2, Precision::i8x3};

class MatmulValues {
public:
    explicit MatmulValues(std::uint64_t seed) : state_(seed) {}
    std::uint32_t next() {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::uint32_t>(state_ >> 32);
    }
    std::uint64_t below(std::uint64_t n) { return next() % n; }
    float unit() { return (static_cast<float>(next() >> 8) - 8388608.0f) * 0x1p-23f; }

    float value(ValueKind data) {
        switch (data) {
            case ValueKind::normal: return unit() + unit() + unit();
            case ValueKind::heavy: return std::ldexp(unit(), static_cast<int>(below(41)) - 20);
            case ValueKind::wide: return from_bits(next() % 0x7f000000u | (next() & kSignBit));
            case ValueKind::subnormal:
                return from_bits((next() & kSignBit) | (next() & (below(4) == 0 ? 0xffffffu : 0x7fffffu)));
            case ValueKind::signed_zeros: return below(8) != 0 ? from_bits(next() & kSignBit) : unit() * 0x1p-75f;
            case ValueKind::special: return special();
            case ValueKind::ties: return (static_cast<float>(below(65537)) - 32768.0f) * 0x1p-15f;
        }
        return 0.0f;
    }

private:
    float special() {
        switch (below(400)) {
            case 0: return from_bits(0xffc12345u);
            case 1: return std::numeric_limits<float>::infinity();
            case 2: return -std::numeric_limits<float>::infinity();
            case 3: return std::numeric_limits<float>::max();
            default: return unit();
        }
    }
    std::uint64_t state_;
};

struct MatmulShape {
    std::uint64_t m, n, k;
};

/// A matrix in one of the three kinds of layout that the packers distinguish.
struct Operand {
    std::vector<float> memory;
    MatrixView view;
};

Operand operand(std::uint64_t rows, std::uint64_t cols, unsigned layout, ValueKind data, MatmulValues& random) {
    Operand out;
    const std::uint64_t pad = layout == 0 ? 0 : 3;
    out.view.rows = rows;
    out.view.cols = cols;
    if (layout == 2) {  // neither stride is 1
        out.view.row_stride = 2 * cols + pad;
        out.view.col_stride = 2;
    } else {
        const bool transposed = layout == 1;
        out.view.row_stride = transposed ? 1 : cols + pad;
        out.view.col_stride = transposed ? rows + pad : 1;
    }
    out.memory.resize(rows * cols == 0 ? 1 : (rows - 1) * out.view.row_stride + (cols - 1) * out.view.col_stride + 1);
    for (float& x : out.memory) x = random.value(data);
    out.view.data = out.memory.data();
    return out;
}

std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
    std::vector<std::uint32_t> bits;
    for (const float x : values) bits.push_back(to_bits(x));
    return bits;
}

/// Products at every level and with several thread counts must have the bits of the reference.
void compare_levels(Precision precision, const MatrixView& a, const MatrixView& b, const std::string& what) {
    const std::uint64_t stride = b.cols + 5;
    std::vector<float> want(a.rows * stride + 1, 7.0f);
    matmul_reference(precision, a, b, want.data(), stride);
    static ThreadPool alone(1), three(3);
    for (const CpuLevel level : cpu_levels()) {
        for (ThreadPool* const pool : {&alone, &three}) {
            std::vector<float> got(a.rows * stride + 1, 7.0f);
            matmul_at(level, precision, a, b, got.data(), stride, *pool);
            // The comparison covers the padding between rows: nothing outside C may be written.
            EXPECT_TRUE(bits_of(got) == bits_of(want))
                << what << " at " << name_of(level) << ", " << pool->threads() << " threads";
        }
    }
}

void compare(const MatmulShape& shape, unsigned layout_a, unsigned layout_b, ValueKind data, std::uint64_t seed) {
    MatmulValues random(seed);
    const Operand a = operand(shape.m, shape.k, layout_a, data, random);
    const Operand b = operand(shape.k, shape.n, layout_b, data, random);
    for (const Precision precision : kPrecisions) {
        const std::string what = "precision " + std::to_string(static_cast<int>(precision)) + ", " +
                                 std::to_string(shape.m) + "x" + std::to_string(shape.n) + "x" +
                                 std::to_string(shape.k) + ", layouts " + std::to_string(layout_a) +
                                 std::to_string(layout_b) + ", data " + std::to_string(static_cast<int>(data)) +
                                 ", seed " + std::to_string(seed);
        compare_levels(precision, a.view, b.view, what);
    }
}

TEST(NumericsMatmul, EmptyAndTinyShapes) {
    for (const std::uint64_t m : {0, 1, 2}) {
        for (const std::uint64_t n : {0, 1, 3}) {
            for (const std::uint64_t k : {0, 1, 4, 5}) compare({m, n, k}, 0, 0, ValueKind::normal, 1);
        }
    }
}

TEST(NumericsMatmul, EdgesOfTilesAndBlocks) {
    std::uint64_t seed = 100;
    for (const std::uint64_t m : {1, 7, 16, 29}) {
        for (const std::uint64_t n : {1, 8, 9, 16, 17, 31, 33, 65})
            compare({m, n, 21}, 0, 0, ValueKind::normal, ++seed);
    }
    for (const std::uint64_t k : {15, 16, 17, 63, 64, 65, 255, 256, 257, 511, 512, 513, 1030}) {
        compare({19, 37, k}, 0, 0, ValueKind::normal, ++seed);
        compare({19, 37, k}, 1, 1, ValueKind::normal, ++seed);
    }
}

TEST(NumericsMatmul, RandomShapesLayoutsAndData) {
    MatmulValues random(20261121);
    for (int i = 0; i < 42; ++i) {
        const MatmulShape shape{1 + random.below(80), 1 + random.below(80), 1 + random.below(520)};
        const unsigned layout_a = static_cast<unsigned>(random.below(3)),
                       layout_b = static_cast<unsigned>(random.below(3));
        compare(shape, layout_a, layout_b, kData[i % std::size(kData)], 1000 + static_cast<std::uint64_t>(i));
    }
}

TEST(NumericsMatmul, ManyTilesInManyThreads) {
    compare({130, 100, 600}, 0, 1, ValueKind::heavy, 5);
    compare({70, 200, 300}, 1, 0, ValueKind::normal, 6);
}

/// Sets the values of each row of A outside [begin, end) to zero. The ranges are those of weights of causal attention,
/// of these transposed, of rows without a value, and chance; those of other patterns are all of a row.
void clear_ends(Operand& a, unsigned pattern, MatmulValues& random) {
    const std::uint64_t k = a.view.cols;
    for (std::uint64_t row = 0; row < a.view.rows; ++row) {
        std::uint64_t begin = 0, end = k;
        if (pattern == 0) end = std::min(k, row + 1);
        if (pattern == 1) begin = std::min(k, row);
        if (pattern == 2 && row % 3 != 0) end = 0;
        if (pattern == 3) begin = random.below(k + 1), end = begin + random.below(k + 1 - begin);
        for (std::uint64_t i = 0; i < k; ++i) {
            float& value = a.memory[row * a.view.row_stride + i * a.view.col_stride];
            if (i < begin || i >= end) value = random.below(2) == 0 ? 0.0f : -0.0f;
        }
    }
}

TEST(NumericsMatmul, RowsThatBeginAndEndWithZeros) {
    MatmulValues random(21);
    for (const MatmulShape& shape : {MatmulShape{26, 35, 256}, {20, 33, 300}, {33, 17, 64}}) {
        for (const ValueKind data : {ValueKind::normal, ValueKind::special}) {
            for (unsigned pattern = 0; pattern < 4; ++pattern) {
                Operand a = operand(shape.m, shape.k, pattern % 3, data, random);
                const Operand b = operand(shape.k, shape.n, 1 - pattern % 2, data, random);
                clear_ends(a, pattern, random);
                for (const Precision precision : kPrecisions)
                    compare_levels(precision, a.view, b.view, "zeros " + std::to_string(pattern));
            }
        }
    }
}

TEST(NumericsMatmul, MoreColumnsThanArePackedAtOnce) {
    compare({3, 70'000, 5}, 0, 0, ValueKind::normal, 7);
    compare({2, 45'000, 260}, 1, 1, ValueKind::heavy, 8);
}

#if defined(__x86_64__)
TEST(NumericsMatmul, AmxKernelWithEmulatedTiles) {
    if (cpu_levels().back() < CpuLevel::avx512) GTEST_SKIP() << "skipped: no AVX-512 for the AMX kernel's packing";
    ThreadPool pool(2);
    MatmulValues random(77);
    for (int i = 0; i < 12; ++i) {
        const MatmulShape shape{1 + random.below(70), 1 + random.below(70), 1 + random.below(400)};
        const ValueKind data = kData[i % std::size(kData)];
        Operand a = operand(shape.m, shape.k, static_cast<unsigned>(i % 2), data, random);
        const Operand b = operand(shape.k, shape.n, static_cast<unsigned>(i / 2 % 2), data, random);
        clear_ends(a, static_cast<unsigned>(i % 5), random);
        for (const Precision precision : {Precision::i8x1, Precision::i8x2, Precision::i8x3}) {
            std::vector<float> want(shape.m * shape.n), got(shape.m * shape.n);
            matmul_reference(precision, a.view, b.view, want.data(), shape.n);
            matmul_tiled(*matmul_kernel_emulated_amx(precision), a.view, b.view, got.data(), shape.n, pool);
            EXPECT_EQ(bits_of(got), bits_of(want)) << "shape " << shape.m << "x" << shape.n << "x" << shape.k;
        }
    }
}
#endif

TEST(NumericsMatmul, LinksChainToTheProduct) {
    MatmulValues random(9);
    for (const ValueKind data : kData) {
        const Operand a = operand(1, 600, 0, data, random), b = operand(600, 1, 1, data, random);
        for (const Precision precision : kPrecisions) {
            float carried = matmul_start(precision);
            for (std::uint32_t begin = 0; begin < 600; begin += 256) {
                const std::uint32_t n = std::min(256u, 600 - begin);
                carried = matmul_link(precision, a.memory.data() + begin, b.memory.data() + begin, n, carried);
            }
            float c = 0;
            matmul_reference(precision, a.view, b.view, &c, 1);
            EXPECT_EQ(to_bits(matmul_finish(carried)), to_bits(c));
        }
    }
}

TEST(NumericsMatmul, FirstChainKeepsANegativeZero) {
    const float x = -0x1p-100f, y = 0x1p-100f;  // the product underflows to -0
    for (const CpuLevel level : cpu_levels()) {
        ThreadPool pool(1);
        float c = 1;
        matmul_at(level, Precision::f32, {&x, 1, 1, 1, 1}, {&y, 1, 1, 1, 1}, &c, 1, pool);
        EXPECT_EQ(to_bits(c), kSignBit) << name_of(level);
    }
}

TEST(NumericsMatmul, SlicesAreAccurate) {
    MatmulValues random(11);
    const Operand a = operand(32, 3072, 0, ValueKind::normal, random),
                  b = operand(3072, 32, 0, ValueKind::normal, random);
    const double limits[] = {1e-6, 3e-2, 1.5e-4, 1e-6};  // relative Frobenius error: f32, i8x1, i8x2, i8x3
    for (std::size_t p = 0; p < std::size(kPrecisions); ++p) {
        ThreadPool pool(1);
        std::vector<float> c(32 * 32);
        matmul(kPrecisions[p], a.view, b.view, c.data(), 32, pool);
        double error = 0, size = 0;
        for (std::uint64_t i = 0; i < 32; ++i) {
            for (std::uint64_t j = 0; j < 32; ++j) {
                double exact = 0;
                for (std::uint64_t k = 0; k < 3072; ++k)
                    exact += static_cast<double>(a.view.at(i, k)) * b.view.at(k, j);
                error += std::pow(c[i * 32 + j] - exact, 2);
                size += exact * exact;
            }
        }
        EXPECT_LT(std::sqrt(error / size), limits[p]) << "precision " << p;
    }
}

}  // namespace
}  // namespace retrace::kernels
