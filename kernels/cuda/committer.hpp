// SPDX-License-Identifier: MIT
// Commitments of a state that lies on the device: a copy is taken there between two steps, and what changed
// of it is hashed on a queue of its own beside the steps that follow. The device's counterpart of
// kernels/commit/committer.
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
        bool written = true;  ///< An op writes it; the others are hashed once and not copied.
    };
    /// Works in `memory` of bytes(), which may be null where only that is asked for.
    DeviceCommitter(std::vector<Entry> state, std::uint8_t* memory);

    /// Device memory for copies, marks and digests.
    std::uint64_t bytes() const noexcept { return bytes_; }
    /// Queues the copying of what changed on `queue`, whose next steps may then write the state, and the
    /// hashing beside it. `workspace` holds the digests of tensors that no op writes, until this returns.
    /// None may be under way.
    Status<> begin(Queue& queue, std::uint8_t* workspace);
    bool under_way() const noexcept { return under_way_; }
    /// Waits: the roots of the tensors as they stood at `begin`.
    Result<std::vector<Hash32>> finish();
    /// The tensors as they stood at the last `begin`, into tensors of their shapes.
    Status<> store(std::vector<Tensor>& tensors);
    /// Tensors that no op writes were written by somebody else: they are hashed again.
    void forget_unwritten() { unwritten_roots_.clear(); }

private:
    std::vector<DeviceTrees::Entry> entries(bool written) const;
    Status<> prepare();

    std::vector<Entry> state_;
    std::vector<std::uint8_t*> copies_;  ///< Of the state's tensors; null for those that no op writes.
    std::uint8_t* memory_ = nullptr;
    std::uint64_t taken_at_ = 0, changed_at_ = 0, trees_at_ = 0, bytes_ = 0;
    std::vector<TakenTensor> taken_;
    DeviceTrees trees_;      ///< Of the copies.
    DeviceTrees unwritten_;  ///< Of the tensors that no op writes.
    std::vector<Hash32> unwritten_roots_;
    std::optional<Queue> beside_;  ///< Once there was a commitment.
    bool copied_ = false;          ///< The copies hold a state whose leaves are in the memory.
    bool under_way_ = false;
};

}  // namespace retrace::kernels::cuda
