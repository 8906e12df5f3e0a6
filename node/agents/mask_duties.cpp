// SPDX-License-Identifier: MIT
#include "node/agents/mask_duties.hpp"

#include <algorithm>

#include "contracts/records/group_views.hpp"
#include "market/masks/opening.hpp"
#include "merkle/hash/sha256.hpp"
#include "node/agents/group_views.hpp"

namespace retrace::node {
namespace {

namespace views = contracts::views;
using market::MaskStep;

bool is_among(const std::vector<std::uint32_t>& runs, std::uint32_t run) {
    return std::find(runs.begin(), runs.end(), run) != runs.end();
}

Unexpected<Error> not_answered(const MaskBook::Key& key, const std::string& why) {
    return error("task " + std::to_string(key.task) + ", round " + std::to_string(key.round) + ": " + why);
}

/// The open round's masks and the run's key in the book; nullopt: no round with masks is open.
struct Open {
    MaskBook::Key key;
    market::RoundMasks masks;
};
std::optional<Open> open_round(const ledger::StateView& view, const market::Run& run) {
    const auto terms = views::group_spec(view, run.task);
    const auto group = terms && terms->mask_bits != 0 ? views::group(view, run.task) : std::nullopt;
    auto masks = group ? views::round_masks(view, run.task, group->round) : std::nullopt;
    if (!masks) return std::nullopt;
    return Open{{run.task, run.index, group->round}, std::move(*masks)};
}

/// SHA-256("retrace/mask-cohort/1" ‖ for each member run u32 ‖ its keys as posted): what a member's answers are bound to.
Hash32 cohort_digest(const market::CohortKeys& cohort) {
    Writer out;
    out.raw(view(std::string_view("retrace/mask-cohort/1")));
    for (const auto& [run, keys] : cohort) out.u32(run).raw(encode(keys));
    return merkle::sha256(out.data());
}

/// Whether both shares that `dealer` sealed for the member fit.
bool both_fit(const market::MaskedRound& round, std::uint32_t dealer, std::uint32_t run,
              const market::MaskSecrets& secrets) {
    const auto agreed = ledger::shared_point(secrets.receive, round.cohort.at(dealer).deal);
    const auto opens = [&](market::ShareKind kind) {
        return market::open_share(round.round, round.cohort, dealer, round.dealt.at(dealer), run, kind, agreed)
            .has_value();
    };
    return opens(market::ShareKind::self) && opens(market::ShareKind::mask);
}

}  // namespace

Result<MaskNotes> MaskDuties::notes_in(const MaskBook::Key& key, const market::CohortKeys& cohort) {
    RETRACE_TRY(found, book_.find(key));
    if (!found) return not_answered(key, "the notes of its masks are lost, so it takes no further part in the round");
    const auto own = cohort.find(key.run);
    if (own == cohort.end() || !equal(encode(own->second), found->keys))
        return not_answered(key,
                            "other keys of this member stand on the ledger than those in its notes: another machine "
                            "posted them, or the node is of another chain");
    const Hash32 digest = cohort_digest(cohort);
    if (found->cohort == digest) return std::move(*found);
    if (!found->cohort.is_zero())
        return not_answered(key,
                            "the node shows another cohort than the one that was answered, and whoever has shares "
                            "of both could put the member's secrets together");
    found->cohort = digest;
    RETRACE_CHECK(book_.save(key, *found));
    return std::move(*found);
}

Result<MaskCall> MaskDuties::post_keys(const MaskBook::Key& key) {
    RETRACE_TRY(found, book_.find(key));
    if (found) return MaskCall(contracts::MaskKeys{key.task, key.run, key.round, found->keys});
    const market::MaskSecrets secrets = market::MaskSecrets::random(random_);
    const auto bytes = [](View secret) { return Bytes(secret.begin(), secret.end()); };
    MaskNotes notes;
    notes.mask = bytes(secrets.mask.bytes());
    notes.self = bytes(secrets.self.bytes());
    notes.deal = bytes(secrets.deal.bytes());
    notes.receive = bytes(secrets.receive.bytes());
    notes.keys = encode(secrets.keys({key.task, key.round, 0}, key.run, random_));
    RETRACE_CHECK(book_.save(key, notes));
    return MaskCall(contracts::MaskKeys{key.task, key.run, key.round, notes.keys});
}

Result<MaskCall> MaskDuties::deal(const MaskBook::Key& key, const market::MaskedRound& round) {
    RETRACE_TRY(notes, notes_in(key, round.cohort));
    if (notes.shares.empty()) {
        if (const auto legal = market::check_cohort(round.round, round.cohort); !legal)
            return not_answered(key, "a cohort with " + std::string(slug(legal.error())));
        notes.shares = encode(market::deal_shares(round.round, round.cohort, key.run, notes.secrets(), random_));
        RETRACE_CHECK(book_.save(key, notes));
    }
    return MaskCall(contracts::MaskShares{key.task, key.run, key.round, notes.shares});
}

Result<std::vector<MaskCall>> MaskDuties::complain(const MaskBook::Key& key, const market::MaskedRound& round) {
    RETRACE_TRY(notes, notes_in(key, round.cohort));
    if (!notes.checked) {
        std::size_t left = round.dealt.size();
        for (const auto& [dealer, shares] : round.dealt) {
            if (dealer == key.run || both_fit(round, dealer, key.run, notes.secrets())) continue;
            // One without which too few are left is shown when shares are revealed (market 15.6).
            if (!market::are_enough(--left, round.cohort.size(), round.least)) break;
            notes.complained.push_back(dealer);
        }
        notes.checked = true;
        RETRACE_CHECK(book_.save(key, notes));
    }
    std::vector<MaskCall> out;
    for (const std::uint32_t dealer : notes.complained) {
        if (!round.dealt.contains(dealer)) continue;
        const auto complaint = market::complain(round.round, round.cohort, dealer, key.run, notes.secrets(), random_);
        out.emplace_back(contracts::ComplainOfShare{key.task, key.run, key.round, dealer, encode(complaint)});
    }
    return out;
}

Result<MaskCall> MaskDuties::reveal(const MaskBook::Key& key, const market::MaskedRound& round) {
    RETRACE_TRY(notes, notes_in(key, round.cohort));
    if (notes.revealed.empty()) {
        if (const auto legal = market::check_record(round); !legal)
            return not_answered(key, "a record with " + std::string(slug(legal.error())));
        market::RevealedShares revealed;
        for (const auto& [dealer, shares] : round.dealt) {
            const auto agreed = ledger::shared_point(notes.secrets().receive, round.cohort.at(dealer).deal);
            const auto share = market::open_share(round.round, round.cohort, dealer, shares, key.run,
                                                  market::wanted_share(round, dealer), agreed);
            if (share)
                revealed.emplace(dealer, share->value);
            else
                revealed.emplace(
                    dealer, market::complain(round.round, round.cohort, dealer, key.run, notes.secrets(), random_));
        }
        notes.revealed = encode(revealed);
        RETRACE_CHECK(book_.save(key, notes));
    }
    return MaskCall(contracts::Unmask{key.task, key.run, key.round, notes.revealed});
}

Result<std::vector<MaskCall>> MaskDuties::due(const ledger::StateView& view, const market::Run& run) {
    std::vector<MaskCall> out;
    const auto open = open_round(view, run);
    const auto member = open ? views::member(view, run.task, run.index) : std::nullopt;
    if (!member || run.state != market::RunState::running || run.next_state == 0) return out;
    const bool in_cohort = is_among(open->masks.cohort, run.index), dealt = is_among(open->masks.dealt, run.index);
    const auto one = [&](Result<MaskCall> made) -> Result<std::vector<MaskCall>> {
        if (!made) return Unexpected{made.error()};
        out.push_back(std::move(*made));
        return out;
    };
    switch (open->masks.step) {
        case MaskStep::keys:
            if (!in_cohort && !member->leaving) return one(post_keys(open->key));
            break;
        case MaskStep::shares:
            if (in_cohort && !dealt && !member->leaving)
                return one(deal(open->key, views::masked_round(view, run.task, open->key.round)));
            break;
        case MaskStep::complaints:
            if (in_cohort) return complain(open->key, views::masked_round(view, run.task, open->key.round));
            break;
        case MaskStep::unmasking:
            if (dealt && !is_among(open->masks.revealed, run.index))
                return one(reveal(open->key, views::masked_round(view, run.task, open->key.round)));
            break;
        case MaskStep::messages:
        case MaskStep::secrets:
        case MaskStep::open:
        case MaskStep::lost: break;
    }
    return out;
}

Result<std::vector<kernels::MaskRow>> MaskDuties::masks(const ledger::StateView& view, const market::Run& run) {
    std::vector<kernels::MaskRow> none;
    const auto open = open_round(view, run);
    if (!open || open->masks.step != MaskStep::messages || !is_among(open->masks.dealt, run.index)) return none;
    const auto cohort = views::mask_cohort(view, run.task, open->key.round);
    RETRACE_TRY(notes, notes_in(open->key, cohort));
    // With a dealer of which it has shown what it sealed a member masks nothing (market 15.6).
    for (const std::uint32_t dealer : notes.complained)
        if (is_among(open->masks.dealt, dealer)) return none;
    if (!market::are_enough(open->masks.dealt.size(), cohort.size(), market::kCohortMin)) return none;
    market::MaskOpening opening{notes.secrets().mask, notes.secrets().self, {}};
    for (const std::uint32_t dealer : open->masks.dealt) opening.dealers.emplace(dealer, cohort.at(dealer).mask);
    const Bytes encoded = encode(opening);
    if (notes.opening.empty()) {
        notes.opening = encoded;
        RETRACE_CHECK(book_.save(open->key, notes));
    } else if (notes.opening != encoded) {
        return not_answered(open->key,
                            "the node shows other dealers than before, and two messages under masks of the same "
                            "keys would tell their difference");
    }
    const market::MaskRound of{run.task, open->key.round, 0};
    return mask_rows(market::message_terms(of, run.index, opening));
}

Result<std::vector<MaskCall>> MaskDuties::shown(const ledger::StateView& view, const market::Run& run) const {
    std::vector<MaskCall> out;
    const auto terms = views::group_spec(view, run.task);
    if (!terms || terms->mask_bits == 0 || run.state != market::RunState::running) return out;
    for (std::uint64_t i = run.finalised; i + 1 < run.next_state; ++i) {
        const auto segment = views::segment(view, run.task, run.index, i);
        const auto audit = segment && segment->audit != 0 ? views::audit(view, segment->audit) : std::nullopt;
        if (!audit || audit->phase != market::AuditPhase::opening) continue;
        if (views::shows_masks(view, run.task, run.index, i)) continue;
        const auto own = views::member_segment(view, run.task, run.index, i);
        const MaskBook::Key key{run.task, run.index, own->base + own->age};
        const auto message = views::round_message(view, run.task, key.round, run.index);
        RETRACE_TRY(notes, book_.find(key));
        const auto opening = notes ? market::decode_mask_opening(notes->opening) : Unexpected{market::MaskError{}};
        if (!message || !opening || !market::opens(*opening, run.index, message->dealers))
            return not_answered(key, "the masks over its message are not those of its notes, so they are not shown");
        out.emplace_back(contracts::ShowMasks{run.task, run.index, i, notes->opening});
    }
    return out;
}

void MaskDuties::forget(const ledger::StateView& view, const market::Run& run) const {
    const auto group = views::group(view, run.task);
    if (!group) return;
    std::uint32_t needed = group->round;
    for (std::uint64_t i = run.finalised; i + 1 < run.next_state; ++i) {
        const auto own = views::member_segment(view, run.task, run.index, i);
        if (!own) return;
        if (own->masks != 0) needed = std::min(needed, own->base + own->age);
    }
    book_.forget(run.task, run.index, needed);
}

}  // namespace retrace::node
