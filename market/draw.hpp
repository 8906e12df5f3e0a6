// SPDX-License-Identifier: MIT
// What the beacon decides. SPEC 7.
#pragma once

#include <tuple>
#include <vector>

#include "market/types.hpp"

namespace retrace::market {

/// What a member of the beacon revealed in an epoch, and the stake that it draws with.
struct Reveal {
    Address member;
    Hash32 preimage;
    U256 weight;
    bool operator==(const Reveal&) const = default;
    static auto tie(auto& r) { return std::tie(r.member, r.preimage, r.weight); }
};
/// beacon_e = SHA-256("retrace/beacon-mix/1" ‖ beacon_{e-1} ‖ e u64 ‖ (member 20 ‖ preimage 32) …), members ascending.
Hash32 mix_beacon(const Hash32& before, std::uint64_t epoch, const std::vector<Reveal>& reveals);

/// Whether any of the reveals draws a segment. Each does so by itself, so that who withholds its own cannot undo what
/// another draws; together with probability `audit_bp` / 10,000. Members ascending; without weight nothing is drawn.
/// The first and last segment of a run are the caller's to add. SPEC 7.2.
bool is_drawn(const std::vector<Reveal>& reveals, std::uint64_t task, std::uint32_t run, std::uint64_t segment,
              std::uint16_t audit_bp);

struct Candidate {
    Address party;
    U256 weight;
};
/// Draws `count` different candidates (all when there are fewer), each time in proportion to weight among those
/// left. `attempt` separates draws for one audit. Candidates of weight zero are never drawn.
std::vector<Address> draw_auditors(const Hash32& beacon, std::uint64_t audit, std::uint32_t attempt,
                                   std::vector<Candidate> candidates, std::size_t count);

}  // namespace retrace::market
