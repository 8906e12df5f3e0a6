// SPDX-License-Identifier: MIT
#include "market/draw.hpp"

#include "market/params.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::market {

Hash32 mix_beacon(const Hash32& before, std::uint64_t epoch, const std::vector<Reveal>& reveals) {
    merkle::Sha256 hash;
    hash.update(view(std::string_view("retrace/beacon-mix/1"))).update(view(before)).update_u64(epoch);
    for (const Reveal& reveal : reveals) hash.update(view(reveal.member)).update(view(reveal.preimage));
    return hash.finish();
}

bool is_drawn(const std::vector<Reveal>& reveals, std::uint64_t task, std::uint32_t run, std::uint64_t segment,
              std::uint16_t audit_bp) {
    const U256 two_64 = U256(1) + U256(~std::uint64_t{0});
    // No stake is near 2^128; the bound keeps the products below 2^216, whatever amounts a genesis file contains.
    const auto weight_of = [most = two_64 * two_64](const Reveal& reveal) { return ledger::min(reveal.weight, most); };
    U256 total, before;
    for (const Reveal& reveal : reveals) total += weight_of(reveal);
    for (const Reveal& reveal : reveals) {
        const Hash32 digest = merkle::Sha256()
                                  .update(view(std::string_view("retrace/audit/2")))
                                  .update(view(reveal.preimage))
                                  .update_u64(task)
                                  .update_u32(run)
                                  .update_u64(segment)
                                  .finish();
        // With W the total weight and C the weight before this reveal, it draws with probability p w / (W - p C). The
        // probability that none of the first k draws is then 1 - p C_k / W, and for all of them 1 - p.
        const U256 weight = weight_of(reveal);
        const U256 rest = total * U256(kBasisPoints) - before * U256(audit_bp);
        if (U256(load_u64(digest.data())) * rest < weight * U256(audit_bp) * two_64) return true;
        before += weight;
    }
    return false;
}

std::vector<Address> draw_auditors(const Hash32& beacon, std::uint64_t audit, std::uint32_t attempt,
                                   std::vector<Candidate> candidates, std::size_t count) {
    std::erase_if(candidates, [](const Candidate& c) { return c.weight.is_zero(); });
    std::sort(candidates.begin(), candidates.end(),
              [](const Candidate& a, const Candidate& b) { return a.party < b.party; });
    U256 total;
    for (const Candidate& c : candidates) total += c.weight;
    std::vector<Address> drawn;
    for (std::uint32_t seat = 0; drawn.size() < count && !candidates.empty(); ++seat) {
        const Hash32 digest = merkle::Sha256()
                                  .update(view(std::string_view("retrace/auditors/1")))
                                  .update(view(beacon))
                                  .update_u64(audit)
                                  .update_u32(attempt)
                                  .update_u32(seat)
                                  .finish();
        // Total stake is far below 2^192, so the bias of the remainder is below 2^-64.
        U256 point = U256::from_be(view(digest)) % total;
        std::size_t pick = 0;
        while (point >= candidates[pick].weight) point -= candidates[pick++].weight;
        drawn.push_back(candidates[pick].party);
        total -= candidates[pick].weight;
        candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(pick));
    }
    return drawn;
}

}  // namespace retrace::market
