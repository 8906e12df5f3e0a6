// SPDX-License-Identifier: MIT
// Members of groups whose messages have masks: keys, shares, what is revealed, and dealers that seal wrong shares.
#include <random>

#include "tests/stateful/group_states.hpp"
#include "tests/stateful/send.hpp"

namespace retrace::stateful {
namespace {

using market::MaskStep;

market::RandomSource source_of(std::uint64_t seed) {
    return [random = std::mt19937_64(seed)](std::span<std::uint8_t> out) mutable {
        for (std::uint8_t& byte : out) byte = static_cast<std::uint8_t>(random());
    };
}

/// What one member does in one round. Its secrets follow from the round, because players keep nothing.
class MaskCalls {
public:
    MaskCalls(const ledger::StateView& view, const market::Run& run, std::uint32_t round)
        : view_(view),
          run_(run),
          round_(round),
          seed_(mixed(run.task * 1'000'003 + round * 1'009 + run.index)),
          secrets_(market::MaskSecrets::random(source_of(seed_))) {}

    /// One in sixteen posts keys whose proof does not hold.
    contracts::MaskKeys keys() const {
        market::MaskKeys keys = secrets_.keys({run_.task, round_, 0}, run_.index, source_of(seed_ + 3));
        if (seed_ % 16 == 1) keys.deal = ledger::generator();
        return {run_.task, run_.index, round_, encode(keys)};
    }
    /// One in four seals wrong shares, and leaves at once.
    bool deals_garbage() const { return seed_ % 4 == 0; }
    contracts::MaskShares shares() const {
        const auto masked = contracts::views::masked_round(view_, run_.task, round_);
        auto dealt = market::deal_shares(masked.round, masked.cohort, run_.index, secrets_, source_of(seed_ + 1));
        if (deals_garbage())
            for (auto& sealed : dealt.sealed) sealed.self.bytes[31] ^= 1;
        return {run_.task, run_.index, round_, encode(dealt)};
    }
    /// One in three leaves its complaints for `unmask`.
    bool complains_early() const { return seed_ % 3 != 0; }
    /// About each dealer whose shares do not fit; one in four complains about all.
    std::vector<contracts::ComplainOfShare> complaints() const {
        const auto masked = contracts::views::masked_round(view_, run_.task, round_);
        std::vector<contracts::ComplainOfShare> out;
        for (const auto& [dealer, shares] : masked.dealt) {
            const auto complaint = market::complain(masked.round, masked.cohort, dealer, run_.index, secrets_,
                                                    source_of(seed_ + 4 + dealer));
            const bool holds =
                market::check_complaint(masked.round, masked.cohort, dealer, shares, run_.index, complaint).has_value();
            if (holds || seed_ % 4 == 1) out.push_back({run_.task, run_.index, round_, dealer, encode(complaint)});
        }
        return out;
    }
    contracts::Unmask unmask() const {
        const auto masked = contracts::views::masked_round(view_, run_.task, round_);
        market::RevealedShares revealed;
        for (const auto& [dealer, shares] : masked.dealt) {
            const auto agreed = ledger::shared_point(secrets_.receive, masked.cohort.at(dealer).deal);
            const auto share = market::open_share(masked.round, masked.cohort, dealer, shares, run_.index,
                                                  market::wanted_share(masked, dealer), agreed);
            if (share)
                revealed.emplace(dealer, share->value);
            else
                revealed.emplace(dealer, market::complain(masked.round, masked.cohort, dealer, run_.index, secrets_,
                                                          source_of(seed_ + 2)));
        }
        return {run_.task, run_.index, round_, encode(revealed)};
    }

private:
    const ledger::StateView& view_;
    const market::Run& run_;
    std::uint32_t round_;
    std::uint64_t seed_;
    market::MaskSecrets secrets_;
};

bool is_in(const std::vector<std::uint32_t>& runs, std::uint32_t run) {
    return std::find(runs.begin(), runs.end(), run) != runs.end();
}

}  // namespace

void Players::mask_messages(const TaskModel& model, const market::Run& run) {
    const std::uint32_t round = model.group->round;
    const auto masks = contracts::views::round_masks(world_.state(), run.task, round);
    if (!masks) return;
    const MaskCalls calls(world_.state(), run, round);
    if (masks->step == MaskStep::keys && !is_in(masks->cohort, run.index)) {
        send(run.solver, calls.keys());
    } else if (masks->step == MaskStep::shares && is_in(masks->cohort, run.index) && !is_in(masks->dealt, run.index)) {
        send(run.solver, calls.shares());
        if (calls.deals_garbage()) send(run.solver, contracts::LeaveTask{run.task, run.index});
    } else if (masks->step == MaskStep::complaints && is_in(masks->cohort, run.index) && calls.complains_early()) {
        for (const contracts::ComplainOfShare& complaint : calls.complaints()) send(run.solver, complaint);
    } else if (masks->step == MaskStep::unmasking && is_in(masks->dealt, run.index) &&
               !is_in(masks->revealed, run.index)) {
        send(run.solver, calls.unmask());
    }
}

}  // namespace retrace::stateful
