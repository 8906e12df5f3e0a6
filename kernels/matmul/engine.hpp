// SPDX-License-Identifier: MIT
// The fast matrix products: what an instruction set supplies (packing and a micro kernel) and the driver that
// is the same for all (engine.cpp). Files compiled for one instruction set include this header and no
// standard container or algorithm: a template instantiated there could be linked into code that must run on
// any machine.
//
// Both operands are packed block by block of 256 in K, as 32-bit words of `group` consecutive k:
//   A: row after row, each a_words · 256/group words: word w of group g at [w · 256/group + g];
//   B: panels of `cols` columns, each 256/group · b_words · cols words: [group][word][column].
// The words are the fp32 values themselves (f32), pairs of int16 (vpmaddwd) or quadruples of int8 (VNNI,
// AMX).
#pragma once

#include <cstdint>

#include "kernels/matmul/matmul.hpp"
#include "kernels/matmul/slices.hpp"

namespace retrace::kernels {

inline constexpr std::uint32_t kLanesMax = 16;  ///< Widest vector, in 32-bit lanes.
inline constexpr std::uint32_t kTileRowsMax = 32;
/// What one call packs. Long runs along the rows of memory, because a column alone would touch a page for
/// every k.
inline constexpr std::uint32_t kPackRows = 64, kPackColumns = 256;

/// Vectors along K of one operand within one block: at most kPackRows rows of A or kPackColumns columns of B.
struct PackSource {
    const float* data = nullptr;
    std::uint64_t vector_stride = 0, k_stride = 0;
    std::uint32_t vectors = 0, n = 0;  ///< n <= 256 values each.
};

/// One tile of C, at most MatmulKernel::rows × cols, and one block of K.
struct Tile {
    const std::uint32_t* a = nullptr;     ///< First row.
    std::uint64_t a_stride = 0;           ///< Words from row to row; read where the kernel takes plain rows.
    const std::uint32_t* b = nullptr;     ///< Panel.
    const float* scale_a = nullptr;       ///< One a row; null for f32, like the next two.
    const float* scale_b = nullptr;       ///< One a column, `cols` of them.
    const std::int32_t* start = nullptr;  ///< kSlicesMax a row: where the integer sums S_g start.
    float* c = nullptr;                   ///< Carried values.
    std::uint64_t c_stride = 0;
    std::uint32_t rows = 0, groups = 0;
    std::uint32_t columns = 0;         ///< Of the panel that are read and written.
    bool narrow = false;               ///< They lie in the panel's first half.
    bool first = false, last = false;  ///< First block of K: c is not read. Last: the epilogue is applied.
};

struct MatmulKernel {
    std::uint32_t rows = 0, cols = 0;  ///< Largest tile; cols = 2 · lanes.
    std::uint32_t lanes = 0;
    std::uint32_t group = 0, a_words = 0, b_words = 0;
    bool plain_rows = false;  ///< A's words are its values: rows that are dense along K need no packing.
    /// `out` is the first vector's row. `scale` and `start` (kSlicesMax a row) are not touched for f32.
    void (*pack_a)(const PackSource& source, std::uint32_t* out, float* scale, std::int32_t* start) = nullptr;
    /// `out` is the first vector's panel. Whole panels are written, missing columns with zeros.
    void (*pack_b)(const PackSource& source, std::uint32_t* out, float* scale) = nullptr;
    void (*multiply)(const Tile& tile) = nullptr;
    /// Called by a thread before and after a run of tiles, where not null: state of the unit that other code
    /// may use.
    void (*enter)() = nullptr;
    void (*leave)() = nullptr;

    std::uint32_t row_words() const { return a_words * kBlockK / group; }
    std::uint32_t panel_words() const { return b_words * kBlockK / group * cols; }
};

/// The kernels of one instruction set; null on machines of another architecture.
const MatmulKernel* matmul_kernel_avx2(Precision precision);
const MatmulKernel* matmul_kernel_avx512(Precision precision);
const MatmulKernel* matmul_kernel_vnni(Precision precision);
const MatmulKernel* matmul_kernel_amx(Precision precision);

/// How the engine cuts a product. Time depends on these, no bit does.
struct EngineSizes {
    std::uint64_t packed_bytes = 2 << 20;    ///< Blocks of B packed ahead; one at least.
    std::uint64_t slab_bytes = 32 << 20;     ///< Columns of B that are packed at once, in one block.
    std::uint64_t chunk_bytes = 384 << 10;   ///< Packed columns that stay in the second-level cache.
    std::uint64_t chunk_rows = 192;          ///< Packed rows that stay there with them; not 0.
    std::uint64_t sets_words = 1024;         ///< So far apart, words share a set of the first-level cache; not 0.
    std::uint64_t serial_work = 1 << 18;     ///< Multiply-adds below which waking threads costs more.
    std::uint64_t tile_rows = kTileRowsMax;  ///< Rows of a tile, of which a kernel may allow fewer; not 0.
};

/// Other sizes for every product of the process while it lives, for tests that show that no bit depends on them: only
/// SizesForTests makes one, which no file of the product defines. No product is under way at either end.
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

/// A · B with `kernel`, in blocks and tiles over the pool.
void matmul_tiled(const MatmulKernel& kernel, const MatrixView& a, const MatrixView& b, float* c,
                  std::uint64_t c_stride, ThreadPool& pool);

}  // namespace retrace::kernels
