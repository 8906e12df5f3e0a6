// SPDX-License-Identifier: MIT
#include "market/groups.hpp"

#include <algorithm>

#include "market/escrow.hpp"
#include "market/masks/records.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::market {
namespace {

/// Returns price × weight.
U256 score_of(const Offer& offer) { return offer.price * U256(offer.weight_bp); }

}  // namespace

std::string_view slug(GroupPhase phase) noexcept {
    switch (phase) {
        case GroupPhase::starting: return "starting";
        case GroupPhase::training: return "training";
        case GroupPhase::spreading: return "spreading";
        case GroupPhase::revealing: return "revealing";
        case GroupPhase::over: return "over";
        case GroupPhase::unmasking: return "unmasking";
        case GroupPhase::settling: return "settling";
    }
    return "invalid";
}

std::uint64_t most_segments(const TaskSpec& spec, const GroupSpec* group) {
    return group != nullptr && group->private_sets != 0 ? 2 * spec.segments() : spec.segments();
}

std::uint64_t longest_round(const GroupSpec& terms) {
    constexpr std::uint64_t kPhasesMax = 5;  // Each ends at the first block after its last one.
    // Contracts 21.11.7: then the secrets are put together.
    constexpr std::uint64_t kSecretsBlocks = (kMaskedMembersMax + kMaskSecretsAtOnce - 1) / kMaskSecretsAtOnce;
    const std::uint64_t unmasking = terms.mask_bits == 0 ? 0 : terms.mask_blocks + 1 + kSecretsBlocks;
    const std::uint64_t spreading = 2 * (terms.fetch_blocks + terms.reveal_blocks) + kPhasesMax;
    const std::uint64_t merging = terms.regions == 0 ? 0 : terms.merge_blocks + spreading;
    return terms.round_blocks + spreading + unmasking + merging;
}

Hash32 holding_commitment(std::uint64_t task, std::uint32_t run, std::uint32_t round, const Hash32& salt, View bitmap) {
    return merkle::Sha256()
        .update(view(std::string_view("retrace/holding/1")))
        .update_u64(task)
        .update_u32(run)
        .update_u32(round)
        .update(view(salt))
        .update(bitmap)
        .finish();
}

Hash32 shared_digest(const std::vector<Hash32>& roots) {
    merkle::Sha256 hash;
    hash.update(view(std::string_view("retrace/shared/1"))).update_u32(static_cast<std::uint32_t>(roots.size()));
    for (const Hash32& root : roots) hash.update(view(root));
    return hash.finish();
}

U256 join_fee(const Params& params, const TaskSpec& spec, std::uint64_t index) {
    // No audit of the seat has been paid for yet, so the budget of the task still has them.
    if (index == 0) return {};
    return audit_fee(params, spec) * U256(std::uint64_t{2} * spec.auditors);
}

U256 segment_pay(const U256& price, std::uint32_t steps, std::uint32_t steps_max) {
    return ledger::mul_div(price, steps, steps_max);
}

U256 merge_pay(const U256& price) { return price / U256(2); }

MeanRound mean_round(const TaskSpec& spec, const GroupSpec* group) {
    if (group == nullptr || group->regions == 0) return {};
    const std::uint64_t members = spec.replicas, regions = group->regions;
    return {members + regions, members + 2 * regions, members,
            2 * members};  // Half of a price for each of two mergers.
}

Seats clear_seats(const std::vector<Offer>& offers, std::size_t count, std::size_t least, const U256& ceiling) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < offers.size(); ++i)
        if (offers[i].fit) order.push_back(i);
    if (order.empty() || order.size() < least) return {};
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        const U256 mine = score_of(offers[a]), other = score_of(offers[b]);
        return mine != other ? mine < other : offers[a].bidder < offers[b].bidder;
    });
    Seats out;
    const std::size_t winners = std::min(count, order.size());
    out.offers.assign(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(winners));
    for (const std::size_t winner : out.offers) out.price = std::max(out.price, offers[winner].price);
    if (winners < order.size())
        out.price = std::max(out.price, score_of(offers[order[winners]]) / U256(Offer::kNeutralWeight));
    out.price = std::min(out.price, ceiling);
    return out;
}

}  // namespace retrace::market
