// SPDX-License-Identifier: MIT
// Members of groups whose messages have masks: keys, shares, what is revealed, and dealers that seal wrong shares.
#include <bit>
#include <random>

#include "contracts/records/group_positions.hpp"
#include "market/masks/opening.hpp"
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
    const market::MaskSecrets& secrets() const { return secrets_; }
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

std::uint64_t seed_of(std::uint64_t task, std::uint32_t round, std::uint32_t run) {
    return mixed(task * 1'000'003 + round * 1'009 + run);
}

/// Of the dealers the ledger keeps a digest only, so they are searched for.
std::optional<market::MaskOpening> opening_of(const ledger::StateView& view, const market::Run& run,
                                              std::uint32_t round, std::uint32_t masks, const Hash32& digest) {
    const auto secrets = [&](std::uint32_t of) {
        return market::MaskSecrets::random(source_of(seed_of(run.task, round, of)));
    };
    const std::uint32_t runs = contracts::views::task(view, run.task)->runs;
    if (runs > 12) return std::nullopt;
    std::vector<market::CurvePoint> keys;
    for (std::uint32_t i = 0; i < runs; ++i) keys.push_back(ledger::public_point(secrets(i).mask));
    const market::MaskSecrets own = secrets(run.index);
    const market::CurvePoint self = ledger::public_point(own.self);
    for (std::uint32_t set = 0; set < 1u << runs; ++set) {
        if (static_cast<std::uint32_t>(std::popcount(set)) != masks) continue;
        market::MaskOpening out{own.mask, own.self, {}};
        for (std::uint32_t i = 0; i < runs; ++i)
            if ((set >> i & 1) != 0) out.dealers.emplace(i, keys[i]);
        if (market::dealers_digest(self, out.dealers) == digest) return out;
    }
    return std::nullopt;
}

}  // namespace

Hash32 mask_root(const ledger::StateView& view, const market::Run& run, std::uint32_t round, std::uint32_t) {
    market::MaskOpening opening{
        MaskCalls(view, run, round).secrets().mask, MaskCalls(view, run, round).secrets().self, {}};
    const auto cohort = contracts::views::mask_cohort(view, run.task, round);
    const auto masks = contracts::views::round_masks(view, run.task, round);
    for (const std::uint32_t dealer : masks->dealt) opening.dealers.emplace(dealer, cohort.at(dealer).mask);
    return contracts::mask_root_of(market::message_terms({run.task, round, 0}, run.index, opening));
}

Bytes mask_opening(const ledger::StateView& view, const market::Run& run, std::uint32_t round, std::uint32_t masks) {
    const auto message = contracts::views::round_message(view, run.task, round, run.index);
    const auto opening = message ? opening_of(view, run, round, masks, message->dealers) : std::nullopt;
    return opening ? encode(*opening) : Bytes{};
}

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
