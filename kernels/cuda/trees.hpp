// SPDX-License-Identifier: MIT
// Tensor roots of tensors that lie on the device: leaves and levels of all their tile trees are hashed there,
// only the tree roots come back.
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

    /// Device memory that the lists and digests take.
    std::uint64_t bytes() const noexcept { return bytes_; }
    /// Hashes everything, in `memory` of bytes(), and returns the tensor roots in order.
    Result<std::vector<Hash32>> roots(Queue& queue, std::uint8_t* memory) const;
    /// The parts of `roots`: the lists, once; the hashing, without waiting for it; the result.
    Status<> prepare(Queue& queue, std::uint8_t* memory) const;
    /// `changed` as for hash_tiles; the leaves of the hashing before must lie in `memory` then.
    void queue_levels(Stream stream, std::uint8_t* memory, const std::uint8_t* changed = nullptr) const;
    /// The tensor roots of what queue_levels hashed.
    Result<std::vector<Hash32>> read(Queue& queue, const std::uint8_t* memory) const;
    std::uint64_t tiles() const noexcept { return tiles_; }
    /// The tensors that have tiles, as `prepare` puts them there.
    const std::vector<HashedTensor>& hashed() const noexcept { return hashed_; }

private:
    struct Level {
        std::uint64_t first_run = 0, nodes = 0;  ///< Of the runs of this level; the leaves have none.
    };
    /// Where a level lies in the memory; 0 are the leaves, which stay.
    std::uint64_t digests(std::size_t level) const;

    std::vector<Entry> tensors_;
    std::vector<HashedTensor> hashed_;  ///< Those that have tiles.
    std::vector<TreeRun> runs_;         ///< Level after level, a run for each of them.
    std::vector<Level> levels_;         ///< Above the leaves.
    std::uint64_t tiles_ = 0, runs_at_ = 0, leaves_at_ = 0, odd_at_ = 0, even_at_ = 0, bytes_ = 0;
};

}  // namespace retrace::kernels::cuda
