// SPDX-License-Identifier: MIT
// What the members of a cohort reveal once the record of a round is final, and the terms that it gives: the masks that
// are left in the sum of the recorded messages. SPEC 15.5.
#pragma once

#include <variant>

#include "market/masks/masks.hpp"

namespace retrace::market {

using Runs = std::vector<std::uint32_t>;  ///< Ascending.

/// What the ledger has of a round before anything is revealed.
struct MaskedRound {
    MaskRound round;
    CohortKeys cohort;
    std::map<std::uint32_t, MaskShares> dealt;  ///< Members without shares have no part in the masks.
    Runs recorded;                              ///< Those of them whose masked message was recorded.
    std::uint32_t least = kCohortMin;           ///< Nobody unmasks the sum of fewer messages.
};
/// Refuses records of others than dealers (not_in_cohort), and of fewer than the threshold or `least` (too_few), which
/// nobody unmasks.
Status<MaskError> check_record(const MaskedRound& masked);

/// Which kind of share all reveal of a member that dealt: of recorded ones that of the seed of its own mask, of others
/// that of its mask key, never both.
ShareKind wanted_share(const MaskedRound& masked, std::uint32_t dealer);

/// A member's shares of the secrets of all that dealt, by dealer, or complaints in their place.
using RevealedShares = std::map<std::uint32_t, std::variant<Scalar, ShareComplaint>>;
/// A count u8 and, by ascending run, the dealer's run u32, a kind u8 (1: share, 2: complaint) and its bytes.
Bytes encode(const RevealedShares& revealed);
Result<RevealedShares, MaskError> decode_revealed_shares(View bytes);
/// How many complaints are in bytes that decode; at most kCohortMax if they do not. Decodes no point.
std::size_t complaints_in(View bytes);

/// Whether `run` reveals what it has to, and nothing else. wrong_count: a share is missing or too many; wrong_share,
/// wrong_proof: one is not what was dealt. Takes a product of a point and a scalar for each commitment and dealer.
Status<MaskError> check_revealed(const MaskedRound& masked, std::uint32_t run, const RevealedShares& revealed);

/// The order in which the secrets of dealers are put together: those of recorded members by run, then the others.
Runs unmask_order(const MaskedRound& masked);
/// The terms that follow from the secret of one dealer. Takes at most a product of a point and a scalar for each recorded
/// member, and two more. too_few: as mask_terms.
Result<std::vector<MaskTerm>, MaskError> terms_of_dealer(const MaskedRound& masked, std::uint32_t dealer,
                                                         const std::map<std::uint32_t, RevealedShares>& revealed);
/// The terms of recorded members by run, first those of their own masks, then those of pairs with one member that is not
/// recorded. Shares that do not fit are left out. too_few: of a secret there are fewer than the threshold; the round is
/// void.
Result<std::vector<MaskTerm>, MaskError> mask_terms(const MaskedRound& masked,
                                                    const std::map<std::uint32_t, RevealedShares>& revealed);

}  // namespace retrace::market
