// SPDX-License-Identifier: MIT
// The interface of the .cu files: each function queues kernels on a stream and returns at once. C++17, no CUDA header.
// All pointers are device addresses; extents and strides count elements. Sizes may be 0.
#pragma once

#include <cstdint>

#include "kernels/cuda/recipe.hpp"
#include "kernels/cuda/stream.hpp"
#include "kernels/matmul/matmul.hpp"
#include "kernels/ops/opcode.hpp"
#include "kernels/ops/spread.hpp"
#include "kernels/program/dtype.hpp"
#include "kernels/random/philox.hpp"
#include "kernels/reduce/reduce.hpp"

namespace retrace::kernels::cuda {

// ---- elementwise (elements.cu) ----

/// The location that an elementwise step reads or writes: memory, or a scratch slot of the thread (data is null).
struct ElementSide {
    std::uint8_t* data = nullptr;
    std::uint32_t slot = 0;
    std::uint8_t size = 4;  ///< Bytes of an element.
    Spread spread = Spread::full;
};
struct ElementStep {
    OpCode code{};
    DType in = DType::f32,
          out = DType::f32;  ///< Types of the operand and the result, for convert and compare.
    std::uint32_t inputs = 0;
    ElementSide sides[3];
    ElementSide result;
};
inline constexpr std::uint32_t kElementSlots = 12;

/// Whether a step of a run on [elements / cols, cols] can go by whole quads: four elements of four bytes in one row.
bool goes_by_quads(const ElementStep& step, std::uint64_t cols);

/// Runs `steps` (on the device) one after the other on every element of [elements / cols, cols], with `slots` scratch
/// slots. Base addresses are multiples of 16 bytes. A step may overwrite memory that it or an earlier step read at the
/// same element. `by_quads` says that all steps go by quads.
void run_elements(Stream stream, const ElementStep* steps, std::uint32_t count, std::uint32_t slots,
                  std::uint64_t elements, std::uint64_t cols, bool by_quads);

// ---- elementwise ops and reductions of rows, row by row (row_runs.cu) ----

/// The location of the elements of one row that a step reads or writes: memory, or the block's own memory (data is
/// null).
struct RowSide {
    std::uint8_t* data = nullptr;
    std::uint64_t stride = 0;  ///< Bytes from one row to the next; 0 if all rows read the same elements.
    std::uint64_t period = 0;  ///< Rows after which the operand begins again; 0 if it has as many rows as the result.
    std::uint32_t at = 0;      ///< Offset in the block's own memory, a multiple of 16.
    std::uint8_t size = 4;     ///< Bytes of an element.
    bool each = true;          ///< One operand element for each element of the row, else one for the whole row.
    bool quads = false;  ///< Elements of four bytes are accessed four at a time; every row begins at a multiple of 16.
};
/// An elementwise op, or a reduction by one level: row_sum, row_max, row_argmax, row_argmax_pick.
struct RowStep {
    OpCode code{};
    DType in = DType::f32, out = DType::f32;  ///< See ElementStep.
    std::uint32_t inputs = 0;
    std::uint64_t cols = 0;  ///< Elements of the computed row; for a reduction, the elements that it reads.
    RowSide sides[3];
    RowSide result;
    bool by_quads = false;  ///< Elementwise, and all elements are accessed four at a time or one for the whole row.
};
/// If a row needs more bytes than this, the blocks' own memory is a slab of device memory.
inline constexpr std::uint64_t kSharedRowBytes = 48 << 10;
inline constexpr std::uint64_t kLongRowBytes = 1 << 20;  ///< Maximum own bytes of a row of a fused run.
/// Returns the number of concurrent blocks if each has `own_bytes` of a slab: together at most 64 MiB.
std::uint64_t slab_blocks(std::uint64_t rows, std::uint64_t own_bytes);
/// Runs `steps` (on the device) one after the other on every row. A block has `own_bytes` of its own memory, in shared
/// memory or in a `slab` of slab_blocks(rows, own_bytes) times that size.
void run_fused_rows(Stream stream, const RowStep* steps, std::uint32_t count, std::uint32_t own_bytes,
                    std::uint64_t rows, std::uint8_t* slab = nullptr);

// ---- runs that are recipes (element_recipes.cu, row_recipes.cu) ----

/// The memory of a recipe's inputs and of the steps that are stored. In a run of rows an operand has a stride in bytes
/// from one row to the next, and begins again after `period` rows if that is not 0.
struct RecipeData {
    std::uint8_t* input[Recipe::kInputsMax] = {};
    std::uint8_t* output[Recipe::kStepsMax] = {};
    std::uint64_t stride[Recipe::kInputsMax] = {}, output_stride[Recipe::kStepsMax] = {};
    std::uint32_t period[Recipe::kInputsMax] = {};
};
/// Limits of the recipes: elements of a run of elementwise ops, and the rows and columns of a run of rows.
inline constexpr std::uint64_t kRecipeElementsMax = std::uint64_t{1} << 32, kRecipeRowsMax = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kRecipeColsMin = 32, kRecipeColsUsual = 4096, kRecipeColsMax = 16384;
/// Runs element recipe `number` on [elements / cols, cols]; both are multiples of four.
void run_element_recipe(Stream stream, std::uint32_t number, const RecipeData& data, std::uint64_t elements,
                        std::uint64_t cols);
void run_row_recipe(Stream stream, std::uint32_t number, const RecipeData& data, std::uint64_t rows,
                    std::uint64_t cols);

// ---- products (slice.cu, product.cu, chain.cu) ----

/// Digits of the vectors along K of one operand as int8, plane after plane in the order of digits.hpp (padding along K
/// is zero, that of vectors undefined), and scales [batch][block][padded vectors].
struct Slices {
    std::int8_t* digits = nullptr;
    float* scales = nullptr;
};
/// Properties of the device that the product of slices depends on.
struct ProductUnit {
    std::uint32_t shared_limit = 0;  ///< Bytes of shared memory that a block may ask for.
    bool warpgroups = false;         ///< Use wgmma; requires compute capability 9.0 and code built for it.
    std::uint32_t multiprocessors = 0;
};
inline constexpr std::uint32_t kPadK = 64, kPadVectors = 8;
inline std::uint64_t padded_k(std::uint64_t k) { return (k + kPadK - 1) / kPadK * kPadK; }
inline std::uint64_t padded_vectors(std::uint64_t vectors) {
    return (vectors + kPadVectors - 1) / kPadVectors * kPadVectors;
}
/// Returns the bytes of the digits, and of the scales, of one operand.
inline std::uint64_t digit_bytes(std::uint32_t slices, std::uint64_t batch, std::uint64_t vectors, std::uint64_t k) {
    return slices * batch * padded_vectors(vectors) * padded_k(k);
}
inline std::uint64_t scale_bytes(std::uint64_t batch, std::uint64_t vectors, std::uint64_t blocks) {
    return 4 * batch * blocks * padded_vectors(vectors);
}

/// Slices (contract 4.2) `batch` matrices of `vectors` vectors of length k. Vector v of matrix i is contiguous at
/// x[(i·vectors + v)·k], or, if `across`, strided: element n is at x[i·vectors·k + n·vectors + v].
void slice_vectors(Stream stream, Precision precision, const float* x, bool across, std::uint64_t batch,
                   std::uint64_t vectors, std::uint64_t k, Slices out);
/// Computes c[batch][m][n] (contract 4.3, 4.4) from the slices of A (m vectors) and B (n vectors); k > 0.
void multiply_slices(Stream stream, Precision precision, Slices a, Slices b, float* c, std::uint64_t batch,
                     std::uint64_t m, std::uint64_t n, std::uint64_t k, ProductUnit unit);
/// Computes the product in f32 chains; transposed operands are stored as [k][m] and [n][k].
void multiply_chains(Stream stream, const float* a, bool transposed_a, const float* b, bool transposed_b, float* c,
                     std::uint64_t batch, std::uint64_t m, std::uint64_t n, std::uint64_t k);

// ---- reductions (reduce.cu) ----

void reduce_rows_on_device(Stream stream, Reduction kind, const float* x, float* out, std::uint64_t rows,
                           std::uint64_t cols);
void reduce_columns_on_device(Stream stream, Reduction kind, const float* x, float* out, std::uint64_t rows,
                              std::uint64_t cols);
/// Computes row_argmax, or row_argmax_pick if `choices` is given. cols ≥ 1.
void argmax_rows_on_device(Stream stream, const float* x, const std::int32_t* choices, std::int32_t* out,
                           std::uint64_t rows, std::uint64_t cols);

// ---- places within rows (places.cu) ----

/// Writes out[rows][count]; 1 <= count <= cols <= kTopColumnsMax.
void top_of_rows_on_device(Stream stream, const std::uint32_t* x, std::int32_t* out, std::uint64_t rows,
                           std::uint32_t cols, std::uint32_t count);
/// Writes `elements` elements of `size` bytes (1 or 4), `count` a row.
void pick_places_on_device(Stream stream, std::uint32_t size, const std::uint8_t* values, const std::int32_t* places,
                           std::uint8_t* out, std::uint64_t elements, std::uint64_t cols, std::uint64_t count);
/// Writes `elements` elements, `cols` a row, given `count` places a row. `out` may be `base`.
void add_at_places_on_device(Stream stream, const std::uint32_t* base, const std::int32_t* places, const float* values,
                             std::uint32_t* out, std::uint64_t elements, std::uint64_t cols, std::uint64_t count);

// ---- rows by index (rows.cu, scatter_rows.cu) ----

/// Writes out[m][width] of `size`-byte elements (1 or 4).
void gather_rows_on_device(Stream stream, std::uint32_t size, const std::uint8_t* table, const std::int32_t* index,
                           std::uint8_t* out, std::uint64_t table_rows, std::uint64_t m, std::uint64_t width);
/// Writes a table of `table_rows` rows of `width` elements of `size` bytes, in which row index[i] is row i of the `m`
/// given ones. `out` may be `table`.
void put_rows_on_device(Stream stream, std::uint32_t size, const std::uint8_t* table, const std::uint8_t* rows,
                        const std::int32_t* index, std::uint8_t* out, std::uint64_t table_rows, std::uint64_t m,
                        std::uint64_t width);
/// Returns the bytes of the workspace (aligned to 256) that scatter_add_on_device needs.
std::uint64_t scatter_bytes(std::uint64_t tokens, std::uint64_t rows);
/// Writes out[rows][width], width ≥ 1. Time is linear in tokens · width + rows · width.
void scatter_add_on_device(Stream stream, const float* values, const std::int32_t* index, float* out,
                           std::uint64_t tokens, std::uint64_t width, std::uint64_t rows, std::uint8_t* workspace);

// ---- movement (movement.cu) ----

/// Copies a box between two strided tensors; the last axis is the innermost.
struct BoxCopy {
    std::uint32_t rank = 0;  ///< At most 6; rank 0 is one element.
    std::uint64_t extent[6] = {}, from_stride[6] = {}, to_stride[6] = {};
    std::uint64_t from = 0, to = 0;  ///< Offsets of the box in elements.
};
void copy_box(Stream stream, std::uint32_t size, const BoxCopy& box, const std::uint8_t* from, std::uint8_t* to);
void fill_bits(Stream stream, std::uint32_t size, std::uint8_t* out, std::uint64_t elements, std::uint32_t bits);

// ---- windows (window.cu) ----

/// The WindowShape of kernels/ops/window_shape.hpp for device code.
struct Windows {
    std::uint64_t n, c, h, w, kh, kw, sh, sw, ph, pw, oh, ow;
};
void gather_windows(Stream stream, std::uint32_t size, const Windows& shape, const std::uint8_t* images,
                    std::uint8_t* out, std::uint32_t fill);
void scatter_windows(Stream stream, const Windows& shape, const float* windows, float* images);

// ---- generators (generate.cu); `step` is a word on the device ----

void make_iota(Stream stream, std::int32_t* out, std::uint64_t elements, std::uint64_t inner, std::uint64_t extent);
void make_step_number(Stream stream, const std::uint64_t* step, std::uint64_t offset, std::int32_t* out);
void make_philox(Stream stream, bool normal, PhiloxKey key, const std::uint64_t* step, float* out,
                 std::uint64_t elements);
void make_batch_index(Stream stream, PhiloxKey key, const std::uint64_t* step, std::uint64_t samples, std::int32_t* out,
                      std::uint64_t batch);
void make_sequential_index(Stream stream, const std::uint64_t* step, std::int32_t* out, std::uint64_t batch);
/// Writes words of ChaCha20 blocks from the first on; `key` is 8 words on the device.
void make_chacha(Stream stream, const std::uint32_t* key, const std::uint64_t* step, std::uint32_t number,
                 std::uint32_t* out, std::uint64_t elements);
void advance_step(Stream stream, std::uint64_t* step);

// ---- tile trees (hash.cu) ----

/// A tensor as a matrix; its tiles are the leaves from `first_tile` on in one list over many tensors.
struct HashedTensor {
    const std::uint8_t* data = nullptr;
    std::uint64_t rows = 0, cols = 0;
    std::uint64_t first_tile = 0;
    std::uint32_t size = 4;  ///< Bytes of an element.
};
/// A tensor (`data`) and a copy of it that take_tiles updates.
struct TakenTensor : HashedTensor {
    std::uint8_t* copy = nullptr;
};
/// The nodes of one tensor at one level: the nodes from `from` on of the level below become those from `to` on.
struct TreeRun {
    std::uint64_t from = 0, count = 0;  ///< First node and number of nodes in the level below.
    std::uint64_t to = 0;
};
/// Computes the tile leaves H(00 ‖ tile) of all tensors (ascending first_tile, none without tiles), 32 bytes each. If
/// `changed` is given, a tile whose byte in it is 0 keeps its leaf.
void hash_tiles(Stream stream, const HashedTensor* tensors, std::uint32_t count, std::uint64_t tiles,
                const std::uint8_t* changed, std::uint8_t* leaves);
/// Copies elements that differ from the copies, and sets the byte of each tile in `changed` (numbered as in hash_tiles)
/// to 1 if any of its elements differed, else to 0.
void take_tiles(Stream stream, const TakenTensor* tensors, std::uint32_t count, std::uint64_t tiles,
                std::uint8_t* changed);
/// Computes one level of all trees (ascending `to`): H(01 ‖ left ‖ right); an odd node is promoted.
void hash_level(Stream stream, const TreeRun* runs, std::uint32_t count, std::uint64_t nodes, const std::uint8_t* below,
                std::uint8_t* above);

}  // namespace retrace::kernels::cuda
