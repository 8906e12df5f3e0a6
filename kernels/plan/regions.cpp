// SPDX-License-Identifier: MIT
#include "kernels/plan/regions.hpp"

#include "merkle/hash/sha256.hpp"

namespace retrace::kernels {

std::vector<std::uint32_t> drawn_order(std::span<const std::uint32_t> runs, const Hash32& seed) {
    std::vector<std::pair<Hash32, std::uint32_t>> order;
    for (const std::uint32_t run : runs)
        order.emplace_back(merkle::Sha256().update(view(seed)).update_u32(run).finish(), run);
    std::ranges::sort(order);
    std::vector<std::uint32_t> out;
    for (const auto& [key, run] : order) out.push_back(run);
    return out;
}

std::vector<PlacedRun> in_regions(std::span<const std::uint32_t> order, std::uint32_t regions) {
    std::vector<PlacedRun> out;
    for (std::uint32_t i = 0; i < order.size(); ++i) out.push_back({order[i], i % regions});
    return out;
}

std::vector<std::vector<std::uint32_t>> judges_of(std::span<const PlacedRun> order, std::uint32_t regions) {
    constexpr std::size_t kCandidates = 2 * kRegionJudges;
    std::vector<std::vector<std::uint32_t>> by_region(regions), candidates(regions), out;
    for (const PlacedRun& placed : order) by_region[placed.region].push_back(placed.run);
    for (std::uint32_t region = 0; region < regions; ++region)
        for (std::uint32_t next = 0; next < regions; ++next)
            for (const std::uint32_t run : by_region[(region + next) % regions])
                if (candidates[region].size() < kCandidates) candidates[region].push_back(run);
    for (const PlacedRun& placed : order) {
        const std::vector<std::uint32_t>& all = candidates[placed.region];
        const std::size_t first = std::min(kRegionJudges, all.size());
        out.emplace_back(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first));
        const auto own = std::ranges::find(out.back(), placed.run);
        if (own == out.back().end()) continue;
        const auto place = static_cast<std::size_t>(own - out.back().begin());
        out.back().erase(own);
        if (all.size() > kRegionJudges) out.back().push_back(all[std::min(kRegionJudges + place, all.size() - 1)]);
    }
    return out;
}

}  // namespace retrace::kernels
