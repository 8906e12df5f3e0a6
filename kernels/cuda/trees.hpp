// SPDX-License-Identifier: MIT
// Tensor roots of tensors on the device: leaves and levels of all their tile trees are hashed there, and only the tree
// roots are copied back.
#pragma once

#include <vector>

#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/runtime.hpp"
#include "kernels/program/program.hpp"

namespace retrace::kernels::cuda {

class DeviceTrees {
public:
    struct Entry {
        const std::uint8_t* data = nullptr;
        DType dtype = DType::f32;
        Dims dims;
    };
    explicit DeviceTrees(std::vector<Entry> tensors);

    /// Bytes of device memory that the lists and digests take.
    std::uint64_t bytes() const noexcept { return bytes_; }
    /// Hashes everything in `memory`, which has bytes() bytes, and returns the tensor roots in order.
    Result<std::vector<Hash32>> roots(Queue& queue, std::uint8_t* memory) const;
    /// The parts of `roots`: `prepare` copies the lists, once; `queue_levels` queues the hashing without waiting;
    /// `read` returns the result.
    Status<> prepare(Queue& queue, std::uint8_t* memory) const;
    /// `changed` is that of hash_tiles; if given, the leaves of the previous hashing must be in `memory`.
    void queue_levels(Stream stream, std::uint8_t* memory, const std::uint8_t* changed = nullptr) const;
    /// Returns the tensor roots of the last queue_levels.
    Result<std::vector<Hash32>> read(Queue& queue, const std::uint8_t* memory) const;
    std::uint64_t tiles() const noexcept { return tiles_; }
    /// The tensors that have tiles, as `prepare` copies them to the device.
    const std::vector<HashedTensor>& hashed() const noexcept { return hashed_; }

private:
    struct Level {
        std::uint64_t first_run = 0, nodes = 0;  ///< First run and number of nodes of this level.
    };
    /// Returns the offset of a level in the memory; level 0 is the leaves, which are kept.
    std::uint64_t digests(std::size_t level) const;

    std::vector<Entry> tensors_;
    std::vector<HashedTensor> hashed_;  ///< The tensors that have tiles.
    std::vector<TreeRun> runs_;         ///< Level after level, one run for each tensor with tiles.
    std::vector<Level> levels_;         ///< The levels above the leaves.
    std::uint64_t tiles_ = 0, runs_at_ = 0, leaves_at_ = 0, odd_at_ = 0, even_at_ = 0, bytes_ = 0;
};

}  // namespace retrace::kernels::cuda
