// SPDX-License-Identifier: MIT
#include "contracts/lifecycle/groups/masks.hpp"

#include <algorithm>

#include "contracts/records/group_views.hpp"

namespace retrace::contracts {
namespace {

using market::MaskStep;
using market::RoundMasks;

bool has(const std::vector<std::uint32_t>& runs, std::uint32_t run) {
    return std::find(runs.begin(), runs.end(), run) != runs.end();
}

RoundMasks masks_of(const Effects& fx, const market::Group& group) {
    return must_load<RoundMasks>(fx.state, keys::round_masks(group.task, group.round));
}

void enter(Effects& fx, const market::Group& group, RoundMasks& masks, MaskStep step, std::size_t members,
           std::uint64_t blocks) {
    masks.step = step;
    masks.deadline = blocks == 0 ? 0 : fx.height + blocks;
    store(fx.state, keys::round_masks(group.task, group.round), masks);
    fx.emit(MasksChanged{group.task, group.round, static_cast<std::uint8_t>(step), static_cast<std::uint32_t>(members),
                         masks.deadline});
    if (masks.deadline != 0) schedule_single(fx, masks.deadline + 1, ScheduledKind::group_clock, group.task, 0);
}

/// 21.11.6: whether so few members took part in a step that no sum could be unmasked.
bool are_too_few(std::size_t members, const RoundMasks& masks) {
    return masks.cohort.size() < market::kCohortMin || members < market::share_threshold(masks.cohort.size());
}

}  // namespace

void begin_masks(Effects& fx, const market::Group& group, const market::GroupSpec& terms) {
    RoundMasks masks;
    enter(fx, group, masks, MaskStep::keys, 0, terms.mask_blocks);
}

bool advance_masks(Effects& fx, const market::Group& group, const market::GroupSpec& terms) {
    RoundMasks masks = masks_of(fx, group);
    if (masks.step == MaskStep::keys) {
        if (masks.cohort.size() < group.senders && fx.height <= masks.deadline) return true;
        const bool lost = are_too_few(masks.cohort.size(), masks);
        enter(fx, group, masks, lost ? MaskStep::lost : MaskStep::shares, masks.cohort.size(),
              lost ? 0 : terms.mask_blocks);
        return !lost;
    }
    if (masks.step == MaskStep::shares) {
        if (masks.dealt.size() < masks.cohort.size() && fx.height <= masks.deadline) return true;
        const bool lost = are_too_few(masks.dealt.size(), masks);
        enter(fx, group, masks, lost ? MaskStep::lost : MaskStep::messages, masks.dealt.size(), 0);
        return !lost;
    }
    return true;
}

bool all_dealers_in(const StateView& view, const RoundMasks& masks, std::uint64_t task,
                    const std::vector<std::uint32_t>& runs) {
    if (masks.step == MaskStep::keys || masks.step == MaskStep::shares) return false;
    return std::all_of(masks.dealt.begin(), masks.dealt.end(), [&](std::uint32_t run) {
        return has(runs, run) || views::run(view, task, run)->state != market::RunState::running;
    });
}

bool begin_unmasking(Effects& fx, const market::Group& group, std::vector<std::uint32_t> recorded) {
    RoundMasks masks = masks_of(fx, group);
    masks.recorded = std::move(recorded);
    const bool lost = are_too_few(masks.recorded.size(), masks);
    enter(fx, group, masks, lost ? MaskStep::lost : MaskStep::unmasking, masks.recorded.size(), 0);
    return !lost;
}

bool end_unmasking(Effects& fx, const market::Group& group) {
    RoundMasks masks = masks_of(fx, group);
    std::map<std::uint32_t, market::RevealedShares> revealed;
    for (const std::uint32_t run : masks.revealed) {
        const auto own = must_load<market::MemberMasks>(fx.state, keys::member_masks(group.task, group.round, run));
        revealed.emplace(run, market::decode_revealed_shares(own.revealed).value());
    }
    const auto terms = market::mask_terms(views::masked_round(fx.state, group.task, group.round), revealed);
    if (terms) masks.terms = market::mask_terms_digest(*terms);
    enter(fx, group, masks, terms ? MaskStep::open : MaskStep::lost, masks.revealed.size(), 0);
    return terms.has_value();
}

bool earns_in_round(const StateView& view, std::uint64_t task, std::uint32_t round, std::uint32_t run) {
    const auto masks = views::round_masks(view, task, round);
    return !masks || has(masks->revealed, run);
}

}  // namespace retrace::contracts
