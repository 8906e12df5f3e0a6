// SPDX-License-Identifier: MIT
#include "kernels/cuda/trees.hpp"

#include <algorithm>

#include "kernels/commit/commitment.hpp"

namespace retrace::kernels::cuda {
namespace {

std::uint64_t aligned(std::uint64_t bytes) {
    return (bytes + 255) / 256 * 256;
}

}  // namespace

DeviceTrees::DeviceTrees(std::vector<Entry> tensors) : tensors_(std::move(tensors)) {
    std::vector<std::uint64_t> counts;
    for (const Entry& entry : tensors_) {
        const Geometry shape = geometry(entry.dims);
        if (shape.tiles() == 0) continue;
        hashed_.push_back({entry.data, shape.rows, shape.cols, tiles_, size_of(entry.dtype)});
        counts.push_back(shape.tiles());
        tiles_ += shape.tiles();
    }
    std::uint64_t second = 0;  // nodes above the leaves: the larger of what the odd buffer holds
    while (std::any_of(counts.begin(), counts.end(), [](std::uint64_t n) { return n > 1; })) {
        Level level{runs_.size(), 0};
        std::uint64_t from = 0;
        for (std::uint64_t& count : counts) {
            runs_.push_back({from, count, level.nodes});
            from += count;
            count = (count + 1) / 2;
            level.nodes += count;
        }
        if (levels_.empty()) second = level.nodes;
        levels_.push_back(level);
    }
    runs_at_ = aligned(hashed_.size() * sizeof(HashedTensor));
    even_at_ = runs_at_ + aligned(runs_.size() * sizeof(TreeRun));
    odd_at_ = even_at_ + aligned(32 * tiles_);
    bytes_ = odd_at_ + aligned(32 * second);
}

std::uint8_t* DeviceTrees::digests(std::uint8_t* memory, std::size_t level) const {
    return memory + (level % 2 == 0 ? even_at_ : odd_at_);
}

Status<> DeviceTrees::prepare(Queue& queue, std::uint8_t* memory) const {
    RETRACE_CHECK(queue.copy_in(memory, hashed_.data(), hashed_.size() * sizeof(HashedTensor)));
    return queue.copy_in(memory + runs_at_, runs_.data(), runs_.size() * sizeof(TreeRun));
}

void DeviceTrees::queue_levels(Stream stream, std::uint8_t* memory) const {
    const auto count = static_cast<std::uint32_t>(hashed_.size());
    if (count == 0) return;
    hash_tiles(stream, reinterpret_cast<const HashedTensor*>(memory), count, tiles_, digests(memory, 0));
    const auto* const runs = reinterpret_cast<const TreeRun*>(memory + runs_at_);
    for (std::size_t i = 0; i < levels_.size(); ++i) {
        hash_level(stream, runs + levels_[i].first_run, count, levels_[i].nodes, digests(memory, i),
                   digests(memory, i + 1));
    }
}

Result<std::vector<Hash32>> DeviceTrees::roots(Queue& queue, std::uint8_t* memory) const {
    RETRACE_CHECK(prepare(queue, memory));
    queue_levels(queue.stream(), memory);
    std::vector<Hash32> trees(hashed_.size());
    RETRACE_CHECK(queue.copy_out(trees.data(), digests(memory, levels_.size()), 32 * trees.size()));
    std::vector<Hash32> out;
    auto tree = trees.begin();
    for (const Entry& entry : tensors_) {
        TensorHeader header{entry.dtype, entry.dims, {}};
        if (geometry(entry.dims).tiles() != 0) header.tree_root = *tree++;
        out.push_back(header.root());
    }
    return out;
}

}  // namespace retrace::kernels::cuda
