// SPDX-License-Identifier: MIT
// A member's part in the secure aggregation of one round. Each step is done once, in this order, from what the ledger
// recorded, so that nobody gets two answers from it. market/SPEC.md 15.
#pragma once

#include "node/masks/mask_values.hpp"

namespace retrace::node {

class MaskMember {
public:
    /// `least` is the fewest members that the group's terms allow to sum (GroupSpec::least).
    MaskMember(const market::MaskRound& round, std::uint32_t run, std::uint32_t least, market::RandomSource random);

    const market::MaskKeys& keys() const { return keys_; }
    /// Deals shares to the cohort, which has the member's own keys (else not_in_cohort), and the proofs of all
    /// (else wrong_proof). too_few: it has fewer than `least` members.
    Result<market::MaskShares, market::MaskError> deal(const market::CohortKeys& cohort);
    /// Complaints about those that sealed no shares for the member, by dealer, which put them out before it masks anything
    /// with them. As many as may be put out; the others are for `unmask`.
    Result<std::map<std::uint32_t, market::ShareComplaint>, market::MaskError> complaints(
        const std::map<std::uint32_t, market::MaskShares>& dealt);
    /// Masks values of `value_bits` bits (two's complement) with those that dealt and were not put out. The result has masked_bits bits.
    /// too_few: fewer than the threshold or `least` dealt, or not the member itself. wrong_share: one of `dealt` is a dealer
    /// of which the member has shown, by a complaint, what it sealed.
    Result<std::vector<std::uint32_t>, market::MaskError> mask(const std::map<std::uint32_t, market::MaskShares>& dealt,
                                                               std::span<const std::int32_t> values,
                                                               unsigned value_bits);
    /// The record is final: gives the member's shares of the secrets of all that dealt.
    Result<market::RevealedShares, market::MaskError> unmask(const market::Runs& recorded);

private:
    enum class Step { keys, dealt, masked, over };

    market::RandomSource random_;
    std::uint32_t run_;
    market::MaskSecrets secrets_;
    market::MaskKeys keys_;
    market::MaskedRound masked_;
    market::Runs complained_;  ///< Dealers that complaints() returned.
    Step step_ = Step::keys;
};

}  // namespace retrace::node
