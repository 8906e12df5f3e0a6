// SPDX-License-Identifier: MIT
#include "kernels/plan/regions.hpp"

#include "merkle/hash/sha256.hpp"

namespace retrace::kernels {
namespace {

Hash32 order_of(std::uint32_t run, std::uint64_t epoch) {
    Writer out;
    out.raw(view(std::string_view("retrace/region/1"))).u64(epoch).u32(run);
    return merkle::sha256(out.data());
}

}  // namespace

std::uint32_t region_of(std::uint32_t run, std::uint64_t round, std::uint32_t regions) noexcept {
    // A block of as many runs as there are regions has one in each; blocks turn against each other.
    const std::uint64_t block = run / regions, epoch = round / kRegionRounds;
    return static_cast<std::uint32_t>((run + block * (epoch % regions)) % regions);
}

std::vector<std::uint32_t> first_of_region(std::span<const std::uint32_t> runs, std::uint64_t round,
                                           std::uint32_t regions, std::uint32_t region, std::size_t count) {
    std::vector<std::pair<Hash32, std::uint32_t>> order;
    for (const std::uint32_t run : runs)
        if (region_of(run, round, regions) == region) order.emplace_back(order_of(run, round / kRegionRounds), run);
    std::ranges::sort(order);
    std::vector<std::uint32_t> out;
    for (std::size_t i = 0; i < std::min(count, order.size()); ++i) out.push_back(order[i].second);
    return out;
}

std::vector<std::uint32_t> listers_of(std::span<const std::uint32_t> runs, std::uint64_t round, std::uint32_t regions,
                                      std::uint32_t region) {
    std::vector<std::uint32_t> out = first_of_region(runs, round, regions, region, kRegionListers);
    for (std::uint32_t next = 1; !out.empty() && out.size() < kRegionListers && next < regions; ++next) {
        const std::uint32_t other = (region + next) % regions;
        const auto more = first_of_region(runs, round, regions, other, kRegionListers - out.size());
        out.insert(out.end(), more.begin(), more.end());
    }
    return out;
}

}  // namespace retrace::kernels
