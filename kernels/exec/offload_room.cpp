// SPDX-License-Identifier: MIT
#include "kernels/exec/offload_room.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <vector>

namespace retrace::kernels {
namespace {

constexpr std::uint64_t kSmallPart = 256;  ///< A block of less than this part of the room is small.

OffloadRoom::History newer(const OffloadRoom::History& a, const OffloadRoom::History& b) {
    return {std::max(a.after, b.after), std::max(a.transfer, b.transfer)};
}

}  // namespace

OffloadRoom::History OffloadRoom::history(std::uint64_t at, std::uint64_t bytes) const {
    History out;
    for (auto piece = std::prev(history_.upper_bound(at)); piece != history_.end() && piece->first < at + bytes;
         ++piece)
        out = newer(out, piece->second);
    return out;
}

void OffloadRoom::split(std::uint64_t at) {
    if (at < bytes_) history_.try_emplace(at, std::prev(history_.upper_bound(at))->second);
}

void OffloadRoom::note(std::uint64_t at, std::uint64_t bytes, const History& history) {
    split(at);
    split(at + bytes);
    const auto first = history_.find(at);
    first->second = newer(first->second, history);
    for (auto piece = std::next(first); piece != history_.end() && piece->first < at + bytes;) {
        first->second = newer(first->second, piece->second);
        piece = history_.erase(piece);
    }
}

std::optional<std::uint64_t> OffloadRoom::best_place(std::uint64_t bytes, const Cost& cost) const {
    struct Block {
        std::uint64_t begin, end;
        std::optional<double> cost;
    };
    std::vector<Block> blocks;
    for (const auto& [begin, rest] : blocks_) blocks.push_back({begin, rest.first, cost(rest.second)});
    std::vector<std::uint64_t> starts{0};
    if (bytes <= bytes_) starts.push_back(bytes_ - bytes);
    for (const Block& block : blocks) {
        starts.push_back(block.end);
        if (!block.cost) {  // a place that ends where a block begins that must stay
            if (block.begin >= bytes) starts.push_back(block.begin - bytes);
        } else {
            starts.push_back(block.begin);
        }
    }
    const bool small = bytes < bytes_ / kSmallPart;
    using Score = std::tuple<double, std::uint32_t, std::uint64_t>;
    std::optional<std::pair<Score, std::uint64_t>> best;
    for (const std::uint64_t at : starts) {
        if (at > bytes_ || bytes > bytes_ - at) continue;
        double sum = 0;
        bool can = true;
        auto block = std::partition_point(blocks.begin(), blocks.end(), [&](const Block& b) { return b.end <= at; });
        for (; can && block != blocks.end() && block->begin < at + bytes; ++block) {
            can = block->cost.has_value();
            sum += block->cost.value_or(0);
        }
        if (!can || (best && sum > std::get<0>(best->first))) continue;
        const Score score{sum, history(at, bytes).after, small ? bytes_ - at : at};
        if (!best || score < best->first) best = {score, at};
    }
    if (!best) return std::nullopt;
    return best->second;
}

}  // namespace retrace::kernels
