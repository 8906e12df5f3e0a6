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

bool is_drawn(const Hash32& beacon, std::uint64_t task, std::uint32_t run, std::uint64_t segment,
              std::uint16_t audit_bp) {
    const Hash32 digest = merkle::Sha256()
                              .update(view(std::string_view("retrace/audit/1")))
                              .update(view(beacon))
                              .update_u64(task)
                              .update_u32(run)
                              .update_u64(segment)
                              .finish();
    // 2^64 modulo 10,000 biases by less than 10^-15.
    return load_u64(digest.data()) % kBasisPoints < audit_bp;
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
