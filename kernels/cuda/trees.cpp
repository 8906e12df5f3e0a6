// SPDX-License-Identifier: MIT
#include "kernels/cuda/trees.hpp"

#include <algorithm>

#include "kernels/commit/commitment.hpp"

namespace retrace::kernels::cuda {
namespace {

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }

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
    while (std::any_of(counts.begin(), counts.end(), [](std::uint64_t n) { return n > 1; })) {
        Level level{runs_.size(), 0};
        std::uint64_t from = 0;
        for (std::uint64_t& count : counts) {
            runs_.push_back({from, count, level.nodes});
            from += count;
            count = (count + 1) / 2;
            level.nodes += count;
        }
        levels_.push_back(level);
    }
    runs_at_ = aligned(hashed_.size() * sizeof(HashedTensor));
    const auto nodes_of = [this](std::size_t level) { return level < levels_.size() ? levels_[level].nodes : 0; };
    leaves_at_ = runs_at_ + aligned(runs_.size() * sizeof(TreeRun));
    odd_at_ = leaves_at_ + aligned(32 * tiles_);
    even_at_ = odd_at_ + aligned(32 * nodes_of(0));
    bytes_ = even_at_ + aligned(32 * nodes_of(1));
}

std::uint64_t DeviceTrees::digests(std::size_t level) const {
    if (level == 0) return leaves_at_;
    return level % 2 == 0 ? even_at_ : odd_at_;
}

Status<> DeviceTrees::prepare(Queue& queue, std::uint8_t* memory) const {
    RETRACE_CHECK(queue.copy_in(memory, hashed_.data(), hashed_.size() * sizeof(HashedTensor)));
    return queue.copy_in(memory + runs_at_, runs_.data(), runs_.size() * sizeof(TreeRun));
}

void DeviceTrees::queue_levels(Stream stream, std::uint8_t* memory, const std::uint8_t* changed) const {
    const auto count = static_cast<std::uint32_t>(hashed_.size());
    if (count == 0) return;
    hash_tiles(stream, reinterpret_cast<const HashedTensor*>(memory), count, tiles_, changed, memory + digests(0));
    const auto* const runs = reinterpret_cast<const TreeRun*>(memory + runs_at_);
    for (std::size_t i = 0; i < levels_.size(); ++i) {
        hash_level(stream, runs + levels_[i].first_run, count, levels_[i].nodes, memory + digests(i),
                   memory + digests(i + 1));
    }
}

Result<std::vector<Hash32>> DeviceTrees::roots(Queue& queue, std::uint8_t* memory) const {
    RETRACE_CHECK(prepare(queue, memory));
    queue_levels(queue.stream(), memory);
    return read(queue, memory);
}

Result<std::vector<Hash32>> DeviceTrees::read(Queue& queue, const std::uint8_t* memory) const {
    std::vector<Hash32> trees(hashed_.size());
    RETRACE_CHECK(queue.copy_out(trees.data(), memory + digests(levels_.size()), 32 * trees.size()));
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
