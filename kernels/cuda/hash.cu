// SPDX-License-Identifier: MIT
// Tile trees (contract 6): a thread hashes one tile or one node. SHA-256 is FIPS 180-4.
#include "kernels/commit/sha256_rounds.hpp"
#include "kernels/cuda/device.hpp"
#include "kernels/cuda/kernels.hpp"

namespace retrace::kernels::cuda {
namespace {

struct alignas(16) Chunk {
    std::uint32_t word[4];
};

struct Digest {
    std::uint32_t word[8];
};

__device__ std::uint32_t rotated(std::uint32_t x, std::uint32_t by) { return x >> by | x << (32 - by); }

__device__ std::uint32_t swapped(std::uint32_t x) {
    return x << 24 | (x & 0xff00u) << 8 | (x >> 8 & 0xff00u) | x >> 24;
}

__device__ Digest first_digest() {
    return Digest{
        {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au, 0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u}};
}

/// Compresses one block of 16 big-endian words; `w` is overwritten.
__device__ void compress(Digest& digest, std::uint32_t (&w)[16]) {
    constexpr Sha256Rounds rounds;  // local, because device code cannot access other host constants
    std::uint32_t a = digest.word[0], b = digest.word[1], c = digest.word[2], d = digest.word[3];
    std::uint32_t e = digest.word[4], f = digest.word[5], g = digest.word[6], h = digest.word[7];
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < 64; ++i) {
        if (i >= 16) {
            const std::uint32_t x = w[(i + 1) % 16], y = w[(i + 14) % 16];
            w[i % 16] += (rotated(x, 7) ^ rotated(x, 18) ^ x >> 3) + w[(i + 9) % 16] +
                         (rotated(y, 17) ^ rotated(y, 19) ^ y >> 10);
        }
        const std::uint32_t t1 =
            h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g)) + rounds.k[i] + w[i % 16];
        const std::uint32_t t2 = (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    digest.word[0] += a, digest.word[1] += b, digest.word[2] += c, digest.word[3] += d;
    digest.word[4] += e, digest.word[5] += f, digest.word[6] += g, digest.word[7] += h;
}

/// Returns H(tag ‖ `words` little-endian words), `words` a multiple of 16. `load(i, chunk)` gives words 16·i ..
/// 16·i+15. The tag shifts everything by one byte, so each big-endian word of the message consists of the last byte of
/// the previous word and the first three bytes of the next.
template <class Load>
__device__ Digest hash_words(std::uint32_t tag, std::uint32_t words, Load load) {
    Digest digest = first_digest();
    std::uint32_t before = tag;  // its last byte comes first in the next word
    std::uint32_t data[16], w[16];
    for (std::uint32_t block = 0; block < words / 16; ++block) {
        load(block, data);
        RETRACE_UNROLL
        for (std::uint32_t i = 0; i < 16; ++i) {
            const std::uint32_t word = swapped(data[i]);
            w[i] = before << 24 | word >> 8;
            before = word;
        }
        compress(digest, w);
    }
    RETRACE_UNROLL
    for (std::uint32_t i = 0; i < 16; ++i) w[i] = 0;
    w[0] = before << 24 | 0x00800000u;
    w[15] = 8 * (1 + 4 * words);
    compress(digest, w);
    return digest;
}

__device__ void store_digest(const Digest& digest, std::uint8_t* out) {
    Chunk* const chunks = reinterpret_cast<Chunk*>(out);
    RETRACE_UNROLL
    for (std::uint32_t half = 0; half < 2; ++half) {
        Chunk chunk;
        RETRACE_UNROLL
        for (std::uint32_t i = 0; i < 4; ++i) chunk.word[i] = swapped(digest.word[4 * half + i]);
        chunks[half] = chunk;
    }
}

/// The tile at (row, col) of a tensor as little-endian words of its rows of 32 elements.
struct TileSource {
    const HashedTensor* tensor;
    std::uint64_t row, col;

    /// Returns word `word` of the tile: four bytes of one row; missing elements are zero bytes.
    __device__ std::uint32_t at(std::uint32_t word) const {
        const std::uint32_t words_a_row = 8 * tensor->size, elements = 4 / tensor->size;
        const std::uint64_t y = row + word / words_a_row, x = col + word % words_a_row * elements;
        if (y >= tensor->rows || x >= tensor->cols) return 0;
        const std::uint64_t first = y * tensor->cols + x;
        if (tensor->size == 4) return reinterpret_cast<const std::uint32_t*>(tensor->data)[first];
        std::uint32_t out = 0;
        for (std::uint32_t i = 0; i < 4 && x + i < tensor->cols; ++i) {
            out |= static_cast<std::uint32_t>(tensor->data[first + i]) << (8 * i);
        }
        return out;
    }

    __device__ void load(std::uint32_t block, std::uint32_t (&data)[16]) const {
        // If the rows are aligned and the tile is whole, half a row of fp32 takes four loads.
        if (tensor->size == 4 && tensor->cols % 4 == 0 && row + 32 <= tensor->rows && col + 32 <= tensor->cols) {
            const std::uint64_t first = (row + block / 2) * tensor->cols + col + block % 2 * 16;
            const Chunk* const from = reinterpret_cast<const Chunk*>(tensor->data + 4 * first);
            RETRACE_UNROLL
            for (std::uint32_t i = 0; i < 4; ++i) {
                const Chunk chunk = from[i];
                RETRACE_UNROLL
                for (std::uint32_t j = 0; j < 4; ++j) data[4 * i + j] = chunk.word[j];
            }
            return;
        }
        RETRACE_UNROLL
        for (std::uint32_t i = 0; i < 16; ++i) data[i] = at(16 * block + i);
    }
};

/// Returns the last of `count` entries whose `start` is at most `at`.
template <class Entry>
__device__ std::uint32_t entry_of(const Entry* entries, std::uint32_t count, std::uint64_t at,
                                  std::uint64_t Entry::*start) {
    std::uint32_t low = 0, high = count;
    while (high - low > 1) {
        const std::uint32_t middle = low + (high - low) / 2;
        (entries[middle].*start <= at ? low : high) = middle;
    }
    return low;
}

__global__ void __launch_bounds__(128)
    tiles_kernel(const HashedTensor* tensors, std::uint32_t count, std::uint64_t tiles, const std::uint8_t* changed,
                 std::uint8_t* leaves) {
    const std::uint64_t index = global_thread();
    if (index >= tiles || (changed != nullptr && changed[index] == 0)) return;
    const HashedTensor& tensor = tensors[entry_of(tensors, count, index, &HashedTensor::first_tile)];
    const std::uint64_t tile = index - tensor.first_tile, across = (tensor.cols + 31) / 32;
    const TileSource source{&tensor, tile / across * 32, tile % across * 32};
    const Digest digest = hash_words(0x00, 256 * tensor.size, [&source](std::uint32_t block, std::uint32_t(&data)[16]) {
        source.load(block, data);
    });
    store_digest(digest, leaves + 32 * index);
}

/// Copies the elements of a column of one tile that differ: `rows` elements from `first` on, `cols` apart. Returns
/// whether any differed.
template <class T>
__device__ bool take_column(const TakenTensor& tensor, std::uint64_t first, std::uint64_t rows) {
    const T* const from = reinterpret_cast<const T*>(tensor.data) + first;
    T* const to = reinterpret_cast<T*>(tensor.copy) + first;
    bool differs = false;
    for (std::uint64_t row = 0; row < rows; ++row) {
        const T value = from[row * tensor.cols];
        if (value == to[row * tensor.cols]) continue;
        to[row * tensor.cols] = value;
        differs = true;
    }
    return differs;
}

/// One warp per tile, one lane per column of it.
__global__ void __launch_bounds__(128)
    take_kernel(const TakenTensor* tensors, std::uint32_t count, std::uint64_t tiles, std::uint8_t* changed) {
    const std::uint64_t index = global_thread() / 32;
    if (index >= tiles) return;
    const TakenTensor& tensor = tensors[entry_of<TakenTensor>(tensors, count, index, &HashedTensor::first_tile)];
    const std::uint64_t tile = index - tensor.first_tile, across = (tensor.cols + 31) / 32;
    const std::uint64_t row = tile / across * 32, col = tile % across * 32 + threadIdx.x % 32;
    bool differs = false;
    if (col < tensor.cols) {
        const std::uint64_t first = row * tensor.cols + col, rows = smaller<std::uint64_t>(32, tensor.rows - row);
        differs = tensor.size == 4 ? take_column<std::uint32_t>(tensor, first, rows)
                                   : take_column<std::uint8_t>(tensor, first, rows);
    }
    const unsigned any = __ballot_sync(kAllLanes, differs);
    if (threadIdx.x % 32 == 0) changed[index] = any != 0;
}

__global__ void __launch_bounds__(128) level_kernel(const TreeRun* runs, std::uint32_t count, std::uint64_t nodes,
                                                    const std::uint8_t* below, std::uint8_t* above) {
    const std::uint64_t index = global_thread();
    if (index >= nodes) return;
    const TreeRun& run = runs[entry_of(runs, count, index, &TreeRun::to)];
    const std::uint64_t left = 2 * (index - run.to);
    const Chunk* const from = reinterpret_cast<const Chunk*>(below + 32 * (run.from + left));
    if (left + 1 == run.count) {
        reinterpret_cast<Chunk*>(above + 32 * index)[0] = from[0];
        reinterpret_cast<Chunk*>(above + 32 * index)[1] = from[1];
        return;
    }
    const Digest digest = hash_words(0x01, 16, [from](std::uint32_t, std::uint32_t(&data)[16]) {
        RETRACE_UNROLL
        for (std::uint32_t i = 0; i < 16; ++i) data[i] = from[i / 4].word[i % 4];
    });
    store_digest(digest, above + 32 * index);
}

}  // namespace

void hash_tiles(Stream stream, const HashedTensor* tensors, std::uint32_t count, std::uint64_t tiles,
                const std::uint8_t* changed, std::uint8_t* leaves) {
    launch(stream, grid_for(tiles, 128), tiles_kernel, tensors, count, tiles, changed, leaves);
}

void take_tiles(Stream stream, const TakenTensor* tensors, std::uint32_t count, std::uint64_t tiles,
                std::uint8_t* changed) {
    launch(stream, grid_for(32 * tiles, 128), take_kernel, tensors, count, tiles, changed);
}

void hash_level(Stream stream, const TreeRun* runs, std::uint32_t count, std::uint64_t nodes, const std::uint8_t* below,
                std::uint8_t* above) {
    launch(stream, grid_for(nodes, 128), level_kernel, runs, count, nodes, below, above);
}

}  // namespace retrace::kernels::cuda
