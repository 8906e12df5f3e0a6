// SPDX-License-Identifier: MIT
// Secure aggregation in a cohort (Bonawitz et al., CCS 2017): keys, shares and what is revealed so that the masks of a
// sum can be computed and those of a single member cannot. SPEC 15. The masks themselves are made by node/masks.
#pragma once

#include <array>
#include <map>
#include <string_view>

#include "market/masks/mask_term.hpp"
#include "market/masks/shares.hpp"
#include "merkle/base/codec.hpp"
#include "merkle/base/result.hpp"

namespace retrace::market {

inline constexpr std::uint32_t kCohortMin = 3;
inline constexpr std::uint32_t kCohortMax = 64;

enum class MaskError : std::uint8_t {
    wrong_length = 1,         ///< Bytes end inside a value, or go on behind the last one.
    wrong_count = 2,          ///< Not as many shares, commitments or members as the cohort asks for.
    off_curve = 3,            ///< A point is not on the curve, or a share not below its order.
    same_key = 4,             ///< A key stands twice, in one member's keys or in those of two.
    not_in_cohort = 5,        ///< The member is not of the cohort.
    wrong_share = 6,          ///< A share does not fit the commitments.
    wrong_proof = 7,          ///< The proof about a sealed share, or about the secrets of keys, does not hold.
    wrong_phase = 8,          ///< The step is not the next one, or was done.
    too_few = 9,              ///< Fewer members than the threshold: the round is void.
    value_out_of_range = 10,  ///< A value needs more bits than the values of this round have.
};
std::string_view slug(MaskError error) noexcept;

/// What all keys of a round are bound to. A round that is repeated has another attempt, and new keys.
struct MaskRound {
    std::uint64_t task = 0;
    std::uint32_t round = 0;
    std::uint32_t attempt = 0;
    bool operator==(const MaskRound&) const = default;
};

/// Shows that who posts keys knows the secrets of all four (Schnorr, CRYPTO 1989): one challenge and a response for each,
/// in the order of the keys. Without it a member could post a key that depends on another's, so that complaints about
/// the one open what the other one sealed.
struct KeyProof {
    Scalar challenge;
    std::array<Scalar, 4> responses;
    bool operator==(const KeyProof&) const = default;
};

/// One-time keys of a member.
struct MaskKeys {
    CurvePoint mask;     ///< With it members agree on pairwise masks. Its secret is shared.
    CurvePoint self;     ///< Public point of the seed of its own mask, which is shared too.
    CurvePoint deal;     ///< Seals the shares that the member deals,
    CurvePoint receive;  ///< and those that it is dealt. Neither secret is ever revealed or shared.
    KeyProof proof;
    bool operator==(const MaskKeys&) const = default;
    std::array<CurvePoint, 4> points() const { return {mask, self, deal, receive}; }
};
/// 292 bytes: the four points, the challenge and the four responses.
Bytes encode(const MaskKeys& keys);
/// Does not check the proof, which holds for one round and run only.
Result<MaskKeys, MaskError> decode_mask_keys(View bytes);
/// wrong_proof: `run` has not shown for this round that it knows the secrets.
Status<MaskError> check_keys(const MaskRound& round, std::uint32_t run, const MaskKeys& keys);

struct MaskSecrets {
    Scalar mask, self, deal, receive;
    static MaskSecrets random(const RandomSource& random);
    /// The keys of `run` in this round, with a proof, for which `random` gives the nonces.
    MaskKeys keys(const MaskRound& round, std::uint32_t run, const RandomSource& random) const;
};

/// The keys of a cohort by run. A member's place is that of its run in ascending order.
using CohortKeys = std::map<std::uint32_t, MaskKeys>;
/// Refuses a cohort that is too small or too large, a key that stands twice, and keys without their proof.
Status<MaskError> check_cohort(const MaskRound& round, const CohortKeys& keys);
std::uint32_t place_of(const CohortKeys& cohort, std::uint32_t run);  ///< Asserts that the run is of the cohort.

/// ⌈2n/3⌉: so many shares give a secret of a member of a cohort of n.
std::uint32_t share_threshold(std::size_t members);
/// Whether `members` of a cohort of `cohort` may sum their messages: the threshold, and at least `least`, or kCohortMin
/// if that is more, so that nobody's values hide among fewer.
bool are_enough(std::size_t members, std::size_t cohort, std::size_t least);

enum class ShareKind : std::uint8_t { self = 1, mask = 2 };

/// The shares of a member's two secrets for each member, itself too, sealed, in the order of places.
struct MaskShares {
    std::vector<CurvePoint> self_commitments;  ///< share_threshold − 1, as Sharing::commitments.
    std::vector<CurvePoint> mask_commitments;
    struct Sealed {
        Hash32 self, mask;
        bool operator==(const Sealed&) const = default;
    };
    std::vector<Sealed> sealed;
    bool operator==(const MaskShares&) const = default;
};
/// The points and the sealed shares, without lengths: both follow from the number of members.
Bytes encode(const MaskShares& shares);
Result<MaskShares, MaskError> decode_mask_shares(View bytes, std::size_t members);

/// Deals the secrets of `run` to the cohort.
MaskShares deal_shares(const MaskRound& round, const CohortKeys& cohort, std::uint32_t run, const MaskSecrets& secrets,
                       const RandomSource& random);
/// The share of `kind` that `dealer` sealed for `receiver`, whose agreement with it is `agreed`. wrong_share: it does
/// not fit the commitments.
Result<Share, MaskError> open_share(const MaskRound& round, const CohortKeys& cohort, std::uint32_t dealer,
                                    const MaskShares& shares, std::uint32_t receiver, ShareKind kind,
                                    const CurvePoint& agreed);
/// Whether `value` is the share of `receiver` that `dealer` committed to.
bool is_dealt(const CohortKeys& cohort, std::uint32_t dealer, const MaskShares& shares, std::uint32_t receiver,
              ShareKind kind, const Scalar& value);

/// Shows that a dealer sealed something else than a share: the point that both agree on, which opens what this dealer
/// sealed for this receiver and nothing else, and a proof that it is that point (Chaum and Pedersen, CRYPTO 1992).
struct ShareComplaint {
    static constexpr std::size_t kBytes = CurvePoint::kBytes + 2 * Scalar::kBytes;
    CurvePoint agreed;
    Scalar challenge, response;
};
Bytes encode(const ShareComplaint& complaint);
Result<ShareComplaint, MaskError> decode_share_complaint(View bytes);
ShareComplaint complain(const MaskRound& round, const CohortKeys& cohort, std::uint32_t dealer, std::uint32_t receiver,
                        const MaskSecrets& secrets, const RandomSource& random);
/// Convicts the dealer if the proof holds and one of both shares is none; else wrong_proof, or wrong_share if both fit.
Status<MaskError> check_complaint(const MaskRound& round, const CohortKeys& cohort, std::uint32_t dealer,
                                  const MaskShares& shares, std::uint32_t receiver, const ShareComplaint& complaint);

/// Of the member's own mask.
MaskSeed self_seed(const MaskRound& round, std::uint32_t run, const Scalar& self);
/// Of the mask of two members, whose secret and public point `mask` agree on `agreed`. The lower run adds it, the other
/// subtracts it.
MaskSeed pair_seed(const MaskRound& round, std::uint32_t a, std::uint32_t b, const CurvePoint& agreed);

}  // namespace retrace::market
