// SPDX-License-Identifier: MIT
// The beacon and the draws that it decides. SPEC 7.
#pragma once

#include <tuple>
#include <vector>

#include "market/types.hpp"

namespace retrace::market {

/// The reveal of a beacon member in an epoch, and the stake with which it draws.
struct Reveal {
    Address member;
    Hash32 preimage;
    U256 weight;
    bool operator==(const Reveal&) const = default;
    static auto tie(auto& r) { return std::tie(r.member, r.preimage, r.weight); }
};
/// beacon_e = SHA-256("retrace/beacon-mix/1" ‖ beacon_{e-1} ‖ e u64 ‖ (member 20 ‖ preimage 32) …), members ascending.
Hash32 mix_beacon(const Hash32& before, std::uint64_t epoch, const std::vector<Reveal>& reveals);

/// Whether any of the reveals draws a segment. Each reveal draws independently, so withholding one cannot undo the draw
/// of another; the joint probability is `audit_bp` / 10,000. Members ascend; without weight no segment is drawn. The
/// caller adds the first and last segment of a run. SPEC 7.2.
bool is_drawn(const std::vector<Reveal>& reveals, std::uint64_t task, std::uint32_t run, std::uint64_t segment,
              std::uint16_t audit_bp);

struct Candidate {
    Address party;
    U256 weight;
};
/// Draws `count` different candidates (all when there are fewer), each in proportion to weight among those left.
/// `attempt` distinguishes the draws for one audit. Candidates of weight zero are never drawn.
std::vector<Address> draw_auditors(const Hash32& beacon, std::uint64_t audit, std::uint32_t attempt,
                                   std::vector<Candidate> candidates, std::size_t count);

}  // namespace retrace::market
