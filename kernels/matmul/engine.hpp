// SPDX-License-Identifier: MIT
// The fast matrix products: the interface of an instruction set (packing and a micro kernel) and the driver that all
// of them share (engine.cpp). Files compiled for one instruction set include this header and no standard container or
// algorithm, because a template instantiated there could be linked into code that must run on any machine.
//
// Both operands are packed block by block of 256 in K, as 32-bit words of `group` consecutive k:
//   A: row after row, each a_words · 256/group words: word w of group g at [w · 256/group + g];
//   B: panels of `cols` columns, each 256/group · b_words · cols words: [group][word][column].
// The words are the fp32 values themselves (f32), pairs of int16 (vpmaddwd) or quadruples of int8 (VNNI,
// AMX, sdot, smmla).
#pragma once

#include <cstdint>

#include "kernels/matmul/matmul.hpp"
#include "kernels/matmul/slices.hpp"

namespace retrace::kernels {

inline constexpr std::uint32_t kLanesMax = 16;  ///< Widest vector, in 32-bit lanes.
inline constexpr std::uint32_t kTileRowsMax = 32;
/// Maximum vectors that one call packs. Runs along the rows of memory are long, because a column alone would touch a
/// page for every k.
inline constexpr std::uint32_t kPackRows = 64, kPackColumns = 256;

/// Vectors along K of one operand within one block: at most kPackRows rows of A or kPackColumns columns of B.
struct PackSource {
    const float* data = nullptr;
    std::uint64_t vector_stride = 0, k_stride = 0;
    std::uint32_t vectors = 0, n = 0;  ///< Number of vectors, and of values of each (n <= 256).
};

/// One tile of C (at most MatmulKernel::rows × cols) and one block of K, but for the groups at its ends in which all digits
/// of A are zero: perhaps there are none left.
struct Tile {
    const std::uint32_t* a = nullptr;     ///< First row.
    std::uint64_t a_stride = 0;           ///< Words from row to row; used only by kernels with plain rows.
    const std::uint32_t* b = nullptr;     ///< Panel.
    const float* scale_a = nullptr;       ///< One per row; null for f32, like the next two.
    const float* scale_b = nullptr;       ///< One per column, `cols` of them.
    const std::int32_t* start = nullptr;  ///< Initial values of the integer sums S_g, kSlicesMax per row.
    float* c = nullptr;                   ///< Carried values.
    std::uint64_t c_stride = 0;
    std::uint32_t rows = 0, groups = 0;
    std::uint32_t columns = 0;         ///< Columns of the panel that are read and written.
    bool narrow = false;               ///< All columns lie in the panel's first half.
    bool first = false, last = false;  ///< First block of K: c is not read. Last: the epilogue is applied.
};

struct MatmulKernel {
    std::uint32_t rows = 0, cols = 0;  ///< Largest tile; cols = 2 · lanes.
    std::uint32_t lanes = 0;
    std::uint32_t group = 0, a_words = 0, b_words = 0;
    /// A tile may begin at a multiple of these groups, and reads them together. 0: the sums are not exact, so that no group
    /// is left out.
    std::uint32_t groups_together = 0;
    bool plain_rows = false;  ///< A's packed words are its values, so rows that are dense along K need no packing.
    /// `out` is the first vector's row. `scale` and `start` (kSlicesMax per row) are not used for f32.
    void (*pack_a)(const PackSource& source, std::uint32_t* out, float* scale, std::int32_t* start) = nullptr;
    /// `out` is the first vector's panel. Whole panels are written, with zeros for missing columns.
    void (*pack_b)(const PackSource& source, std::uint32_t* out, float* scale) = nullptr;
    void (*multiply)(const Tile& tile) = nullptr;
    /// If not null, a thread calls these before and after a run of tiles, to set up and release state of the unit that
    /// other code may use.
    void (*enter)() = nullptr;
    void (*leave)() = nullptr;

    std::uint32_t row_words() const { return a_words * kBlockK / group; }
    std::uint32_t panel_words() const { return b_words * kBlockK / group * cols; }
};

/// The kernel of a precision among those of one instruction set.
RETRACE_FN const MatmulKernel* kernel_of(Precision precision, const MatmulKernel* f32, const MatmulKernel* i8x1,
                                         const MatmulKernel* i8x2, const MatmulKernel* i8x3) {
    const MatmulKernel* const by_slices[] = {f32, i8x1, i8x2, i8x3};
    return by_slices[slices_of(precision)];
}

/// The kernels of one instruction set; null on machines of another architecture.
const MatmulKernel* matmul_kernel_avx2(Precision precision);
const MatmulKernel* matmul_kernel_avxvnni(Precision precision);
const MatmulKernel* matmul_kernel_avx512(Precision precision);
const MatmulKernel* matmul_kernel_vnni(Precision precision);
const MatmulKernel* matmul_kernel_amx(Precision precision);
const MatmulKernel* matmul_kernel_neon(Precision precision);
const MatmulKernel* matmul_kernel_dotprod(Precision precision);
const MatmulKernel* matmul_kernel_i8mm(Precision precision);

/// How the engine divides a product. The sizes affect time but no bit.
struct EngineSizes {
    std::uint64_t packed_bytes = 2 << 20;    ///< Maximum bytes of packed blocks of B; at least one block is packed.
    std::uint64_t slab_bytes = 32 << 20;     ///< Maximum bytes of columns of B packed together, for one block.
    std::uint64_t chunk_bytes = 384 << 10;   ///< Bytes of packed columns that stay in the second-level cache.
    std::uint64_t chunk_rows = 192;          ///< Packed rows that stay there with them; not 0.
    std::uint64_t sets_words = 1024;         ///< Words at this distance share a set of the first-level cache; not 0.
    std::uint64_t serial_work = 1 << 18;     ///< Multiply-adds below which waking threads costs more.
    std::uint64_t tile_rows = kTileRowsMax;  ///< Maximum rows of a tile; a kernel may allow fewer; not 0.
};

/// While it exists, sets the sizes of every product of the process, for tests that no bit depends on them. Only
/// SizesForTests, which production code does not define, can create one. No product may be under way when it is created
/// or destroyed.
class OtherSizes {
public:
    ~OtherSizes();
    OtherSizes(const OtherSizes&) = delete;
    OtherSizes& operator=(const OtherSizes&) = delete;

private:
    friend struct SizesForTests;
    explicit OtherSizes(const EngineSizes& sizes);
    const EngineSizes sizes_;
};

/// Computes A · B with `kernel`, in blocks and tiles distributed over the pool.
void matmul_tiled(const MatmulKernel& kernel, const MatrixView& a, const MatrixView& b, float* c,
                  std::uint64_t c_stride, ThreadPool& pool);

}  // namespace retrace::kernels
