// SPDX-License-Identifier: MIT
#include "kernels/commit/committer.hpp"

#include <cstring>
#include <numeric>
#include <utility>

#include "merkle/base/ensure.hpp"

namespace retrace::kernels {
namespace {

constexpr std::uint64_t kTileSide = 32;
constexpr std::uint64_t kBytesPerRun = 1 << 18;  ///< Minimum number of bytes that a thread compares.

/// Copies the rows of one row of tiles, from row `first` on, where they differ, and sets `changed` to 1 for the tiles
/// that differ.
void take_rows(const std::uint8_t* from, std::uint8_t* to, const Geometry& shape, std::uint64_t size,
               std::uint64_t first, std::uint8_t* changed) {
    const std::uint64_t end = std::min(first + kTileSide, shape.rows), row_bytes = shape.cols * size;
    for (std::uint64_t row = first; row < end; ++row) {
        const std::uint8_t* source = from + row * row_bytes;
        std::uint8_t* target = to + row * row_bytes;
        for (std::uint64_t tile = 0; tile < shape.tile_cols(); ++tile) {
            const std::uint64_t at = tile * kTileSide * size, bytes = std::min(kTileSide * size, row_bytes - at);
            // A tile that is known to have changed need not be compared again.
            if (changed[tile] == 0 && std::memcmp(target + at, source + at, bytes) == 0) continue;
            changed[tile] = 1;
            std::memcpy(target + at, source + at, bytes);
        }
    }
}

}  // namespace

StateCommitter::StateCommitter(const Program& program, const Hash32& program_root, unsigned threads)
    : program_(program), program_root_(program_root), pool_(threads), tensors_(program.states) {}

std::uint64_t StateCommitter::planned_bytes(const Program& program) {
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < program.states; ++i) {
        const Geometry shape = geometry(program.tensors[i].dims);
        bytes += shape.elements() * size_of(program.tensors[i].dtype);
        bytes += shape.tiles() * (sizeof(Hash32) + sizeof(std::uint64_t));
    }
    return bytes;
}

StateCommitter::~StateCommitter() {
    if (worker_.joinable()) worker_.join();
}

void StateCommitter::begin(const State& state, ThreadPool& pool) {
    ensure(!worker_.joinable(), "one commitment at a time");
    ensure(state.tensors.size() == program_.states, "a state of the program");
    try {
        kept_.tensors.resize(program_.states);
        kept_.step = state.step;
        for (std::uint32_t i = 0; i < program_.states; ++i) {
            const TensorRecord& record = program_.tensors[i];
            ensure(state.tensors[i].dtype == record.dtype && state.tensors[i].dims == record.dims,
                   "a state of the program");
            const bool is_new = kept_.tensors[i].data.empty();
            tensors_[i].changed.clear();
            if (is_new) {
                kept_.tensors[i] = state.tensors[i];
                tensors_[i].leaves.resize(geometry(record.dims).tiles());
                tensors_[i].changed.resize(tensors_[i].leaves.size());
                std::iota(tensors_[i].changed.begin(), tensors_[i].changed.end(), std::uint64_t{0});
                tensors_[i].root = {};
            } else if (record.writer != kNoWriter) {
                take(state.tensors[i], kept_.tensors[i], tensors_[i], pool);
            }
        }
        worker_ = std::thread([this] {
            try {
                hash();
            } catch (...) {
                failed_ = std::current_exception();
            }
        });
    } catch (...) {
        forget();
        throw;
    }
}

/// Drops the copy after an error, because parts of it may belong to different states.
void StateCommitter::forget() { kept_.tensors.clear(); }

void StateCommitter::take(const Tensor& from, Tensor& to, Kept& kept, ThreadPool& pool) const {
    const Geometry shape = geometry(from.dims);
    const std::uint64_t size = size_of(from.dtype), tile_row_bytes = kTileSide * shape.cols * size;
    std::vector<std::uint8_t> changed(shape.tiles());
    pool.parallel_for(shape.tile_rows(), 1 + kBytesPerRun / (tile_row_bytes + 1),
                      [&](std::uint64_t begin, std::uint64_t end) {
                          for (std::uint64_t i = begin; i < end; ++i) {
                              take_rows(from.data.data(), to.data.data(), shape, size, i * kTileSide,
                                        changed.data() + i * shape.tile_cols());
                          }
                      });
    for (std::uint64_t tile = 0; tile < changed.size(); ++tile) {
        if (changed[tile] != 0) kept.changed.push_back(tile);
    }
}

void StateCommitter::hash() {
    hashed_ = 0;
    for (std::uint32_t i = 0; i < program_.states; ++i) {
        Kept& kept = tensors_[i];
        const Tensor& tensor = kept_.tensors[i];
        if (kept.changed.empty() && !kept.root.is_zero()) continue;
        hash_tiles(tensor.data.data(), tensor.dtype, tensor.dims, kept.changed, kept.leaves, pool_);
        kept.root = TensorHeader{tensor.dtype, tensor.dims, merkle::tree_root(kept.leaves)}.root();
        hashed_ += kept.changed.size();
    }
}

StateCommitment StateCommitter::finish() {
    ensure(worker_.joinable(), "a commitment under way");
    worker_.join();
    if (failed_) {
        forget();
        std::rethrow_exception(std::exchange(failed_, nullptr));
    }
    std::vector<Hash32> roots;
    for (const Kept& kept : tensors_) roots.push_back(kept.root);
    return commit_roots(program_root_, kept_.step, std::move(roots));
}

}  // namespace retrace::kernels
