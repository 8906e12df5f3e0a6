// SPDX-License-Identifier: MIT
// Grids within the limits of a device for any number of blocks, and kernels whose surplus blocks do nothing.
#include "tests/cuda/emulation/cuda.hpp"
//
#include <gmock/gmock.h>

#include "kernels/cuda/device.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/runtime.hpp"
#include "tests/cuda/emulation/device.hpp"

namespace retrace::kernels::cuda {
namespace {

TEST(Grids, HaveExtentsThatEveryDeviceTakes) {
    for (const std::uint64_t blocks : {0x1ull, 0x7fffffffull, 0x80000000ull, 0x80000001ull, 0x100000000ull,
                                       0x100000001ull, 0x30000000005ull, 0x7ffeull << 31}) {
        const Extents extents = extents_of(blocks);
        EXPECT_LE(extents.across, 0x7fffffffu) << blocks;
        EXPECT_LE(extents.down, 65535u) << blocks;
        EXPECT_GE(extents.across * extents.down, blocks);
        EXPECT_LT(extents.across * extents.down - blocks, extents.down) << "no whole column of blocks in vain";
    }
}

/// Floats, followed by guard bytes that must not be written.
class Guarded {
public:
    explicit Guarded(std::size_t floats) : memory_(*Memory::take(4 * floats + kGuard)), floats_(floats) {
        std::fill_n(memory_.data(), 4 * floats, std::uint8_t{0});
        std::fill_n(memory_.data() + 4 * floats, kGuard, std::uint8_t{0xee});
    }
    float* data() { return reinterpret_cast<float*>(memory_.data()); }
    std::uint8_t* bytes() { return memory_.data(); }
    bool intact() const {
        const std::uint8_t* const behind = memory_.data() + 4 * floats_;
        return std::all_of(behind, behind + kGuard, [](std::uint8_t byte) { return byte == 0xee; });
    }

private:
    static constexpr std::size_t kGuard = 65536;
    Memory memory_;
    std::size_t floats_;
};

/// Three blocks in two rows of two, so that the fourth has no work.
class BlocksBeyondTheLast : public ::testing::Test {
protected:
    BlocksBeyondTheLast() {
        emulation::device = {};
        emulation::settings = {};
        emulation::settings.blocks_across = 2;
        for (int i = 0; i < 3; ++i) x.data()[i] = static_cast<float>(i + 1);
    }
    ~BlocksBeyondTheLast() override { emulation::settings = {}, emulation::device = {}; }

    void expect(Guarded& out, std::array<float, 3> values) {
        for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(out.data()[i], values[i]) << i;
        EXPECT_TRUE(out.intact());
    }
    Guarded x{4096}, out{3};
};

TEST_F(BlocksBeyondTheLast, ComputeNoProductOfChains) {
    multiply_chains(nullptr, x.data(), false, x.data(), false, out.data(), 3, 1, 1, 1);
    expect(out, {1, 4, 9});
}

TEST_F(BlocksBeyondTheLast, ReduceNoColumns) {
    x.data()[300] = 7;
    x.data()[599] = 8;
    reduce_columns_on_device(nullptr, Reduction::sum, x.data(), out.data(), 600, 1);
    expect(out, {6, 7, 8});
}

TEST_F(BlocksBeyondTheLast, ComputeNoRowOfAFusedRun) {
    RowStep step;
    step.code = OpCode::neg;
    step.inputs = 1;
    step.cols = 1;
    step.sides[0].data = x.bytes();
    step.result.data = out.bytes();
    step.sides[0].stride = step.result.stride = 4;
    for (const std::uint32_t own_bytes : {16, 40 << 10}) {  // a warp, a block for each row
        std::fill_n(out.data(), 3, 0.0f);
        run_fused_rows(nullptr, &step, 1, own_bytes, 3);
        expect(out, {-1, -2, -3});
    }
}

/// Many elements go by quads, several of a thread: with the bits of the kernel that takes four at a time.
TEST_F(BlocksBeyondTheLast, ComputeNoQuads) {
    emulation::settings = {};
    constexpr std::uint64_t kRows = 349526, kCols = 12, kElements = kRows * kCols;
    Guarded a(kElements), row(kCols), column(kRows), scalar(1), outs[2] = {Guarded(kElements), Guarded(kElements)};
    for (std::uint64_t i = 0; i < kElements; ++i) a.data()[i] = static_cast<float>(i % 1013);
    for (std::uint64_t i = 0; i < kCols; ++i) row.data()[i] = static_cast<float>(i);
    for (std::uint64_t i = 0; i < kRows; ++i) column.data()[i] = static_cast<float>(i % 17);
    scalar.data()[0] = 0.25f;
    for (const bool by_quads : {false, true}) {
        Guarded& result = outs[by_quads];
        ElementStep steps[3];
        for (ElementStep& step : steps) step.code = OpCode::fma, step.inputs = 3, step.result.slot = 1;
        steps[0].sides[0] = {a.bytes(), 0, 4, Spread::full};
        steps[0].sides[1] = {row.bytes(), 0, 4, Spread::row};
        steps[0].sides[2] = {column.bytes(), 0, 4, Spread::column};
        steps[1].sides[0] = {nullptr, 1, 4, Spread::full};
        steps[1].sides[1] = {scalar.bytes(), 0, 4, Spread::scalar};
        steps[1].sides[2] = {row.bytes(), 0, 4, Spread::row};
        steps[1].result = {nullptr, 0, 4, Spread::full};
        steps[2] = steps[1];
        steps[2].sides[0].slot = 0;
        steps[2].sides[2] = {a.bytes(), 0, 4, Spread::full};
        steps[2].result = {result.bytes(), 0, 4, Spread::full};
        for (const ElementStep& step : steps) EXPECT_TRUE(goes_by_quads(step, kCols));
        run_elements(nullptr, steps, 3, 2, kElements, kCols, by_quads);
        EXPECT_TRUE(result.intact());
    }
    EXPECT_TRUE(std::equal(outs[0].data(), outs[0].data() + kElements, outs[1].data()));
    EXPECT_EQ(outs[1].data()[kElements - 1],
              ((kElements - 1) % 1013 * 11.0f + (kRows - 1) % 17) * 0.0625f + 11 * 0.25f + (kElements - 1) % 1013);
}

TEST_F(BlocksBeyondTheLast, ComputeNoTileOfSlicedProducts) {
    for (const bool across : {false, true}) {
        for (const bool warpgroups : {false, true}) {
            SCOPED_TRACE(std::to_string(across) + std::to_string(warpgroups));
            emulation::settings.architecture = warpgroups ? 90 : 80;
            emulation::device.shared_limit = 227 * 1024;
            Guarded digits(digit_bytes(1, 3, 1, 1) / 4), scales(scale_bytes(3, 1, 1) / 4);
            const Slices slices{reinterpret_cast<std::int8_t*>(digits.bytes()), scales.data()};
            slice_vectors(nullptr, Precision::i8x1, x.data(), across, 3, 1, 1, slices);
            EXPECT_TRUE(digits.intact());
            EXPECT_TRUE(scales.intact());
            multiply_slices(nullptr, Precision::i8x1, slices, slices, out.data(), 3, 1, 1, 1, {227 * 1024, warpgroups});
            expect(out, {1, 4, 9});
        }
    }
}

TEST_F(BlocksBeyondTheLast, SortNoTokens) {
    constexpr std::uint64_t kTokens = 600;  // three blocks of the sort
    Guarded index(kTokens), workspace(scatter_bytes(kTokens, 3) / 4);
    for (std::uint64_t i = 0; i < kTokens; ++i)
        reinterpret_cast<std::int32_t*>(index.bytes())[i] = static_cast<std::int32_t>(i < 3 ? 2 - i : 3);
    scatter_add_on_device(nullptr, x.data(), reinterpret_cast<const std::int32_t*>(index.bytes()), out.data(), kTokens,
                          1, 3, workspace.bytes());
    expect(out, {3, 2, 1});
    EXPECT_TRUE(workspace.intact());
}

}  // namespace
}  // namespace retrace::kernels::cuda
