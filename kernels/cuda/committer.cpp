// SPDX-License-Identifier: MIT
#include "kernels/cuda/committer.hpp"

#include <utility>

#include "kernels/cuda/layout.hpp"

namespace retrace::kernels::cuda {
namespace {

std::uint64_t bytes_of(const DeviceCommitter::Entry& entry) {
    return geometry(entry.dims).elements() * size_of(entry.dtype);
}

}  // namespace

DeviceCommitter::DeviceCommitter(std::vector<Entry> state, std::uint8_t* memory)
    : state_(std::move(state)), copies_(state_.size()), memory_(memory), trees_({}), unwritten_(entries(false)) {
    std::uint64_t at = 0;
    for (std::size_t i = 0; i < state_.size(); ++i) {
        if (!state_[i].written) continue;
        copies_[i] = memory_ == nullptr ? nullptr : memory_ + at;
        at += aligned_bytes(bytes_of(state_[i]));
    }
    trees_ = DeviceTrees(entries(true));
    taken_at_ = at;
    changed_at_ = taken_at_ + aligned_bytes(trees_.hashed().size() * sizeof(TakenTensor));
    trees_at_ = changed_at_ + aligned_bytes(trees_.tiles());
    bytes_ = trees_at_ + trees_.bytes();
    auto hashed = trees_.hashed().begin();
    for (std::size_t i = 0; i < state_.size(); ++i) {
        if (!state_[i].written || geometry(state_[i].dims).tiles() == 0) continue;
        TakenTensor taken{*hashed++, copies_[i]};
        taken.data = state_[i].data;
        taken_.push_back(taken);
    }
}

std::vector<DeviceTrees::Entry> DeviceCommitter::entries(bool written) const {
    std::vector<DeviceTrees::Entry> out;
    for (std::size_t i = 0; i < state_.size(); ++i) {
        if (state_[i].written != written) continue;
        out.push_back({written ? copies_[i] : state_[i].data, state_[i].dtype, state_[i].dims});
    }
    return out;
}

Status<> DeviceCommitter::prepare() {
    RETRACE_TRY(queue, Queue::open());
    RETRACE_CHECK(queue.copy_in(memory_ + taken_at_, taken_.data(), taken_.size() * sizeof(TakenTensor)));
    RETRACE_CHECK(trees_.prepare(queue, memory_ + trees_at_));
    beside_ = std::move(queue);
    return retrace::Unit{};
}

Status<> DeviceCommitter::begin(Queue& queue, std::uint8_t* workspace) {
    ensure(!under_way_, "one commitment at a time");
    if (!beside_) RETRACE_CHECK(prepare());
    if (unwritten_roots_.empty()) {
        RETRACE_TRY(roots, unwritten_.roots(queue, workspace));
        unwritten_roots_ = std::move(roots);
    }
    // Until everything is queued, and after an error, the copies hold no state.
    const bool again = std::exchange(copied_, false);
    const std::uint8_t* changed = nullptr;
    if (again) {
        take_tiles(queue.stream(), reinterpret_cast<const TakenTensor*>(memory_ + taken_at_),
                   static_cast<std::uint32_t>(taken_.size()), trees_.tiles(), memory_ + changed_at_);
        changed = memory_ + changed_at_;
    } else {
        for (std::size_t i = 0; i < state_.size(); ++i) {
            if (state_[i].written) queue.copy(copies_[i], state_[i].data, bytes_of(state_[i]));
        }
    }
    RETRACE_CHECK(beside_->follow(queue));
    trees_.queue_levels(beside_->stream(), memory_ + trees_at_, changed);
    copied_ = under_way_ = true;
    return retrace::Unit{};
}

Result<std::vector<Hash32>> DeviceCommitter::finish() {
    ensure(under_way_, "a commitment under way");
    under_way_ = false;
    copied_ = false;  // unless the device succeeds
    RETRACE_TRY(written, trees_.read(*beside_, memory_ + trees_at_));
    copied_ = true;
    std::vector<Hash32> roots;
    auto next = written.begin();
    auto kept = unwritten_roots_.begin();
    for (const Entry& entry : state_) roots.push_back(entry.written ? *next++ : *kept++);
    return roots;
}

Status<> DeviceCommitter::store(std::vector<Tensor>& tensors) {
    ensure(copied_ && tensors.size() == state_.size(), "a state that was committed, and tensors for it");
    for (std::size_t i = 0; i < state_.size(); ++i) {
        ensure(tensors[i].data.size() == bytes_of(state_[i]), "tensors of the state's shapes");
        const std::uint8_t* from = state_[i].written ? copies_[i] : state_[i].data;
        RETRACE_CHECK(beside_->copy_out(tensors[i].data.data(), from, tensors[i].data.size()));
    }
    return retrace::Unit{};
}

}  // namespace retrace::kernels::cuda
