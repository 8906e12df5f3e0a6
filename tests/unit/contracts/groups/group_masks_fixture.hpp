// SPDX-License-Identifier: MIT
// A group whose messages have masks: the members' secrets, and what they post at each step.
#pragma once

#include <random>

#include "contracts/lifecycle/groups/masks.hpp"
#include "contracts/records/group_positions.hpp"
#include "market/masks/opening.hpp"
#include "tests/unit/contracts/groups/group_fixture.hpp"

namespace retrace::contracts {

using market::MaskStep;
using RunList = std::vector<std::uint32_t>;

class GroupMasks : public GroupTest {
protected:
    GroupMasks() { begin_chain(true); }  // 21.11.35

    market::GroupSpec masked_terms() const {
        market::GroupSpec terms = small_terms();
        terms.least = 3;
        terms.mask_bits = 10;
        terms.mask_blocks = 4;
        terms.catch_up_max = 300;
        for (std::uint8_t phase = 9; phase <= 10; ++phase)
            terms.phases.push_back({phase, phase == 10, word("phase " + std::to_string(phase))});
        return terms;
    }
    void begin(const std::vector<std::string>& names = {"alice", "bob", "carol", "dave"}) {
        start_group(masked_terms(), names);
        begin_rounds();
    }

    /// What opens the masks that a member puts over its message of the open round.
    market::MaskOpening mask_opening(std::uint32_t run) const {
        market::MaskOpening out{secrets_.at(run).mask, secrets_.at(run).self, {}};
        const auto cohort = views::mask_cohort(state, 1, group().round);
        for (const std::uint32_t dealer : masks(group().round).dealt)
            out.dealers.emplace(dealer, cohort.at(dealer).mask);
        return out;
    }
    Bytes masks_over(std::uint32_t run, CommitRound& call) override {
        if (views::group_spec(state, 1)->mask_bits == 0) return {};
        const auto open = views::round_masks(state, 1, group().round);
        call.masks = word("masks");  // Refused before anybody looks at it.
        if (!open || open->step != MaskStep::messages || !secrets_.contains(run)) return {};
        const market::MaskOpening opening = mask_opening(run);
        call.masks = mask_root_of(market::message_terms({1, group().round, 0}, run, opening));
        return encode(opening);
    }

    market::RandomSource source() {
        return [this](std::span<std::uint8_t> out) {
            for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(random_());
        };
    }
    /// Of the open round only.
    market::RoundMasks masks(std::uint32_t round = 0) const { return views::round_masks(state, 1, round).value(); }
    /// How the masks of an open or closed round changed last.
    MasksChanged last_change(std::uint32_t round) const {
        std::optional<MasksChanged> out;
        for (const MasksChanged& change : all<MasksChanged>())
            if (change.round == round) out = change;
        return out.value();
    }
    MaskStep mask_step(std::uint32_t round = 0) const { return static_cast<MaskStep>(last_change(round).step); }
    market::MaskedRound masked(std::uint32_t round = 0) const { return views::masked_round(state, 1, round); }

    CallStatus post_keys(std::uint32_t run) {
        secrets_[run] = market::MaskSecrets::random(source());
        return send(solver_of(run), MaskKeys{1, run, group().round, encode(keys_of(run, secrets_.at(run)))});
    }
    market::MaskKeys keys_of(std::uint32_t run, const market::MaskSecrets& secrets) {
        return secrets.keys({1, group().round, 0}, run, source());
    }
    Bytes shares_of(std::uint32_t run) {
        const auto round = masked(group().round);
        return encode(market::deal_shares(round.round, round.cohort, run, secrets_.at(run), source()));
    }
    CallStatus deal(std::uint32_t run) {
        return send(solver_of(run), MaskShares{1, run, group().round, shares_of(run)});
    }
    /// What the member reveals of all that dealt, with complaints where a share does not fit.
    market::RevealedShares revealed_of(std::uint32_t run) {
        const auto round = masked(group().round);
        market::RevealedShares out;
        for (const auto& [dealer, shares] : round.dealt) {
            const auto agreed = ledger::shared_point(secrets_.at(run).receive, round.cohort.at(dealer).deal);
            const auto share = market::open_share(round.round, round.cohort, dealer, shares, run,
                                                  market::wanted_share(round, dealer), agreed);
            if (share)
                out.emplace(dealer, share->value);
            else
                out.emplace(dealer,
                            market::complain(round.round, round.cohort, dealer, run, secrets_.at(run), source()));
        }
        return out;
    }
    CallStatus unmask(std::uint32_t run) {
        return send(solver_of(run), Unmask{1, run, group().round, encode(revealed_of(run))});
    }

    void agree_on_keys(const std::vector<std::uint32_t>& runs) {
        for (const std::uint32_t run : runs) ASSERT_EQ(post_keys(run), CallStatus::ok) << last.revert_reason;
        const std::uint32_t now = group().round;
        ASSERT_TRUE(serve_until([&] { return mask_step(now) != MaskStep::keys; }));
    }
    void deal_all(const std::vector<std::uint32_t>& runs) {
        for (const std::uint32_t run : runs) ASSERT_EQ(deal(run), CallStatus::ok) << last.revert_reason;
        const std::uint32_t now = group().round;
        await_messages(now);
    }
    /// Nobody complains.
    void await_messages(std::uint32_t now) {
        ASSERT_TRUE(serve_until([&] {
            const MaskStep step = mask_step(now);
            return step != MaskStep::shares && step != MaskStep::complaints;
        }));
    }
    void send_messages(const std::vector<std::uint32_t>& runs, const std::set<std::uint32_t>& hidden = {}) {
        for (const std::uint32_t run : runs) ASSERT_EQ(train(run), CallStatus::ok) << last.revert_reason;
        spread(runs, hidden);
        ASSERT_TRUE(serve_until([&] { return group().phase != GroupPhase::revealing; }));
    }
    /// Up to unmasking; all members take part in all, but for messages that are listed by nobody.
    void play_to_unmasking(const std::set<std::uint32_t>& hidden = {}) {
        begin();
        agree_on_keys({0, 1, 2, 3});
        deal_all({0, 1, 2, 3});
        send_messages({0, 1, 2, 3}, hidden);
        ASSERT_EQ(group().phase, GroupPhase::unmasking);
    }
    std::vector<std::uint32_t> recorded_runs(std::uint32_t index) const {
        std::vector<std::uint32_t> out;
        for (const market::RoundEntry& entry : round(index).entries) out.push_back(entry.run);
        return out;
    }
    std::string name(CallStatus status) const { return std::string(slug(status)); }

    std::mt19937_64 random_{1};
    std::map<std::uint32_t, market::MaskSecrets> secrets_;
};

}  // namespace retrace::contracts
