// SPDX-License-Identifier: MIT
#include "node/masks/mask_member.hpp"

#include "ledger/crypto/secret.hpp"

namespace retrace::node {

using market::MaskError;

namespace {

/// The seed of a member's own message is a secret until the round is unmasked.
void apply_and_wipe(std::span<std::uint32_t> words, market::MaskSeed seed, bool add) {
    apply_mask(words, seed, add);
    ledger::wipe(seed.bytes);
}

}  // namespace

MaskMember::MaskMember(const market::MaskRound& round, std::uint32_t run, std::uint32_t least,
                       market::RandomSource random)
    : random_(std::move(random)),
      run_(run),
      secrets_(market::MaskSecrets::random(random_)),
      keys_(secrets_.keys(round, run, random_)) {
    masked_.round = round;
    masked_.least = least;
}

Result<market::MaskShares, MaskError> MaskMember::deal(const market::CohortKeys& cohort) {
    if (step_ != Step::keys) return Unexpected{MaskError::wrong_phase};
    RETRACE_CHECK(market::check_cohort(masked_.round, cohort));
    const auto own = cohort.find(run_);
    if (own == cohort.end() || own->second != keys_) return Unexpected{MaskError::not_in_cohort};
    if (!market::are_enough(cohort.size(), cohort.size(), masked_.least)) return Unexpected{MaskError::too_few};
    masked_.cohort = cohort;
    step_ = Step::dealt;
    return market::deal_shares(masked_.round, cohort, run_, secrets_, random_);
}

Result<std::map<std::uint32_t, market::ShareComplaint>, MaskError> MaskMember::complaints(
    const std::map<std::uint32_t, market::MaskShares>& dealt) {
    if (step_ != Step::dealt) return Unexpected{MaskError::wrong_phase};
    std::map<std::uint32_t, market::ShareComplaint> out;
    for (const auto& [dealer, shares] : dealt) {
        const auto keys = masked_.cohort.find(dealer);
        if (keys == masked_.cohort.end()) return Unexpected{MaskError::not_in_cohort};
        const auto agreed = ledger::shared_point(secrets_.receive, keys->second.deal);
        const auto fits = [&](market::ShareKind kind) {
            return market::open_share(masked_.round, masked_.cohort, dealer, shares, run_, kind, agreed).has_value();
        };
        if (fits(market::ShareKind::self) && fits(market::ShareKind::mask)) continue;
        if (dealer == run_ || !market::are_enough(dealt.size() - out.size() - 1, masked_.cohort.size(), masked_.least))
            continue;
        complained_.push_back(dealer);
        out.emplace(dealer, market::complain(masked_.round, masked_.cohort, dealer, run_, secrets_, random_));
    }
    return out;
}

Result<std::vector<std::uint32_t>, MaskError> MaskMember::mask(const std::map<std::uint32_t, market::MaskShares>& dealt,
                                                               std::span<const std::int32_t> values,
                                                               unsigned value_bits) {
    if (step_ != Step::dealt) return Unexpected{MaskError::wrong_phase};
    for (const auto& [run, shares] : dealt)
        if (!masked_.cohort.contains(run)) return Unexpected{MaskError::not_in_cohort};
    for (const std::uint32_t dealer : complained_)
        if (dealt.contains(dealer)) return Unexpected{MaskError::wrong_share};
    if (!dealt.contains(run_) || !market::are_enough(dealt.size(), masked_.cohort.size(), masked_.least))
        return Unexpected{MaskError::too_few};
    const unsigned bits = masked_bits(value_bits, masked_.cohort.size());
    if (value_bits == 0 || bits > 32) return Unexpected{MaskError::value_out_of_range};
    const std::int64_t bound = std::int64_t{1} << (value_bits - 1);
    for (const std::int32_t value : values)
        if (value < -bound || value >= bound) return Unexpected{MaskError::value_out_of_range};

    masked_.dealt = dealt;
    step_ = Step::masked;
    std::vector<std::uint32_t> words(values.begin(), values.end());
    apply_and_wipe(words, market::self_seed(masked_.round, run_, secrets_.self), true);
    for (const auto& [run, shares] : dealt) {
        if (run == run_) continue;
        const auto agreed = ledger::shared_point(secrets_.mask, masked_.cohort.at(run).mask);
        apply_and_wipe(words, market::pair_seed(masked_.round, run_, run, agreed), run_ < run);
    }
    keep_bits(words, bits);
    return words;
}

Result<market::RevealedShares, MaskError> MaskMember::unmask(const market::Runs& recorded) {
    if (step_ != Step::masked) return Unexpected{MaskError::wrong_phase};
    masked_.recorded = recorded;
    RETRACE_CHECK(market::check_record(masked_));
    step_ = Step::over;  // Another record would ask for the other kind of a share.
    market::RevealedShares out;
    for (const auto& [dealer, shares] : masked_.dealt) {
        const auto agreed = ledger::shared_point(secrets_.receive, masked_.cohort.at(dealer).deal);
        const auto share = market::open_share(masked_.round, masked_.cohort, dealer, shares, run_,
                                              market::wanted_share(masked_, dealer), agreed);
        if (share)
            out.emplace(dealer, share->value);
        else
            out.emplace(dealer, market::complain(masked_.round, masked_.cohort, dealer, run_, secrets_, random_));
    }
    return out;
}

}  // namespace retrace::node
