// SPDX-License-Identifier: MIT
// Commitments of a state on the device: a copy is taken there between two steps, and its changed tiles are hashed on a
// separate queue concurrently with the following steps. The device's counterpart of kernels/commit/committer.
#pragma once

#include <optional>
#include <vector>

#include "kernels/cuda/trees.hpp"
#include "kernels/runtime/tensor.hpp"

namespace retrace::kernels::cuda {

class DeviceCommitter {
public:
    struct Entry {
        const std::uint8_t* data = nullptr;
        DType dtype = DType::f32;
        Dims dims;
        bool written = true;  ///< An op writes it; other tensors are hashed once and not copied.
    };
    /// Uses `memory`, which has bytes() bytes; it may be null if only bytes() is called.
    DeviceCommitter(std::vector<Entry> state, std::uint8_t* memory);

    /// Device memory for copies, marks and digests.
    std::uint64_t bytes() const noexcept { return bytes_; }
    /// Queues the copying of changed tiles on `queue`, so that later steps on it may write the state, and the hashing
    /// on another queue. Until this returns, `workspace` holds the digests of tensors that no op writes. No commitment
    /// may be under way.
    Status<> begin(Queue& queue, std::uint8_t* workspace);
    bool under_way() const noexcept { return under_way_; }
    /// Waits and returns the roots of the tensors at the time of `begin`.
    Result<std::vector<Hash32>> finish();
    /// Copies the tensors at the time of the last `begin` into `tensors`, which have their shapes.
    Status<> store(std::vector<Tensor>& tensors);
    /// Must be called after a load has written tensors that no op writes: they are hashed again.
    void forget_unwritten() { unwritten_roots_.clear(); }

private:
    std::vector<DeviceTrees::Entry> entries(bool written) const;
    Status<> prepare();

    std::vector<Entry> state_;
    std::vector<std::uint8_t*> copies_;  ///< Copies of the state's tensors; null for those that no op writes.
    std::uint8_t* memory_ = nullptr;
    std::uint64_t taken_at_ = 0, changed_at_ = 0, trees_at_ = 0, bytes_ = 0;
    std::vector<TakenTensor> taken_;
    DeviceTrees trees_;      ///< Trees of the copies.
    DeviceTrees unwritten_;  ///< Trees of the tensors that no op writes.
    std::vector<Hash32> unwritten_roots_;
    std::optional<Queue> beside_;  ///< The queue for hashing; opened at the first commitment.
    bool copied_ = false;          ///< The copies hold a state whose leaves are in `memory_`.
    bool under_way_ = false;
};

}  // namespace retrace::kernels::cuda
