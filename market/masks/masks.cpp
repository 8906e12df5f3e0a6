// SPDX-License-Identifier: MIT
#include "market/masks/masks.hpp"

#include <algorithm>
#include <array>

#include "ledger/crypto/secret.hpp"
#include "merkle/base/ensure.hpp"
#include "merkle/hash/sha256.hpp"

namespace retrace::market {
namespace {

merkle::Sha256 bound_hash(std::string_view tag, const MaskRound& round) {
    merkle::Sha256 hash;
    hash.update(view(tag)).update_u64(round.task).update_u32(round.round).update_u32(round.attempt);
    return hash;
}

/// Reads points and scalars; the first failure stays.
class MaskReader {
public:
    explicit MaskReader(View bytes) : in_(bytes) {}

    CurvePoint point() {
        const auto out = CurvePoint::decode(in_.raw(CurvePoint::kBytes));
        if (!out) off_curve_ = true;
        return out ? *out : ledger::generator();
    }
    Scalar scalar() {
        const auto out = Scalar::from_bytes(in_.raw(Scalar::kBytes));
        if (!out) off_curve_ = true;
        return out ? *out : Scalar();
    }
    Hash32 hash() { return in_.hash(); }
    std::optional<MaskError> failure() const {
        if (!in_.finish()) return MaskError::wrong_length;
        if (off_curve_) return MaskError::off_curve;
        return std::nullopt;
    }

private:
    Reader in_;
    bool off_curve_ = false;
};

/// The key stream that seals one share by exclusive or; no key stream serves twice. A changed share does not fit the
/// dealer's commitments.
Hash32 pad_of(const MaskRound& round, std::uint32_t dealer, std::uint32_t receiver, ShareKind kind,
              const CurvePoint& agreed) {
    return bound_hash("retrace/mask-share/1", round)
        .update_u32(dealer)
        .update_u32(receiver)
        .update_u8(static_cast<std::uint8_t>(kind))
        .update(agreed.bytes())
        .finish();
}

/// Wipes its copy of the pad.
Hash32 sealed_with(Hash32 pad, View share) {
    Hash32 out;
    for (std::size_t i = 0; i < Scalar::kBytes; ++i) out.bytes[i] = static_cast<std::uint8_t>(pad.bytes[i] ^ share[i]);
    ledger::wipe(pad.bytes);
    return out;
}

Scalar challenge_of(const MaskRound& round, std::uint32_t dealer, std::uint32_t receiver, const MaskKeys& from,
                    const MaskKeys& to, const CurvePoint& agreed, const CurvePoint& first, const CurvePoint& second) {
    return Scalar::from_hash(bound_hash("retrace/mask-complaint/1", round)
                                 .update_u32(dealer)
                                 .update_u32(receiver)
                                 .update(from.deal.bytes())
                                 .update(to.receive.bytes())
                                 .update(agreed.bytes())
                                 .update(first.bytes())
                                 .update(second.bytes())
                                 .finish());
}

/// response · base + challenge · point: what the prover committed to, if the proof holds.
std::optional<CurvePoint> commitment_of(const Scalar& challenge, const Scalar& response, const CurvePoint& base,
                                        const CurvePoint& point) {
    const auto first = ledger::times(response, base);
    const auto second = ledger::times(challenge, point);
    if (!first || !second) return std::nullopt;
    return ledger::sum(std::array{*first, *second});
}

/// The challenge of the proof that `run` knows the secrets of four points.
Scalar challenge_of_keys(const MaskRound& round, std::uint32_t run, const std::array<CurvePoint, 4>& points,
                         const std::vector<CurvePoint>& commitments) {
    merkle::Sha256 hash = bound_hash("retrace/mask-keys/1", round);
    hash.update_u32(run);
    for (const CurvePoint& point : points) hash.update(point.bytes());
    for (const CurvePoint& commitment : commitments) hash.update(commitment.bytes());
    return Scalar::from_hash(hash.finish());
}

}  // namespace

std::string_view slug(MaskError error) noexcept {
    switch (error) {
        case MaskError::wrong_length: return "mask_wrong_length";
        case MaskError::wrong_count: return "mask_wrong_count";
        case MaskError::off_curve: return "mask_off_curve";
        case MaskError::same_key: return "mask_same_key";
        case MaskError::not_in_cohort: return "mask_not_in_cohort";
        case MaskError::wrong_share: return "mask_wrong_share";
        case MaskError::wrong_phase: return "mask_wrong_phase";
        case MaskError::too_few: return "mask_too_few";
        case MaskError::value_out_of_range: return "mask_value_out_of_range";
        case MaskError::wrong_proof: return "mask_wrong_proof";
    }
    return "invalid";
}

Bytes encode(const MaskKeys& keys) {
    Writer out;
    for (const CurvePoint& point : keys.points()) out.raw(point.bytes());
    out.raw(keys.proof.challenge.bytes());
    for (const Scalar& response : keys.proof.responses) out.raw(response.bytes());
    return std::move(out).take();
}

Result<MaskKeys, MaskError> decode_mask_keys(View bytes) {
    MaskReader in(bytes);
    const CurvePoint mask = in.point(), self = in.point(), deal = in.point(), receive = in.point();
    KeyProof proof{in.scalar(), {}};
    for (Scalar& response : proof.responses) response = in.scalar();
    if (const auto failure = in.failure()) return Unexpected{*failure};
    return MaskKeys{mask, self, deal, receive, proof};
}

Status<MaskError> check_keys(const MaskRound& round, std::uint32_t run, const MaskKeys& keys) {
    const auto points = keys.points();
    std::vector<CurvePoint> commitments;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const auto commitment =
            commitment_of(keys.proof.challenge, keys.proof.responses[i], ledger::generator(), points[i]);
        if (!commitment) return Unexpected{MaskError::wrong_proof};
        commitments.push_back(*commitment);
    }
    if (challenge_of_keys(round, run, points, commitments) != keys.proof.challenge)
        return Unexpected{MaskError::wrong_proof};
    return Unit{};
}

MaskSecrets MaskSecrets::random(const RandomSource& random) {
    MaskSecrets out;
    for (Scalar* secret : {&out.mask, &out.self, &out.deal, &out.receive}) *secret = Scalar::random(random);
    return out;
}

MaskKeys MaskSecrets::keys(const MaskRound& round, std::uint32_t run, const RandomSource& random) const {
    MaskKeys out{ledger::public_point(mask),
                 ledger::public_point(self),
                 ledger::public_point(deal),
                 ledger::public_point(receive),
                 {}};
    std::array<Scalar, 4> nonces;
    std::vector<CurvePoint> commitments;
    for (Scalar& nonce : nonces) {
        nonce = Scalar::random(random);
        commitments.push_back(ledger::public_point(nonce));
    }
    out.proof.challenge = challenge_of_keys(round, run, out.points(), commitments);
    const std::array<const Scalar*, 4> secrets{&mask, &self, &deal, &receive};
    for (std::size_t i = 0; i < nonces.size(); ++i)
        out.proof.responses[i] = nonces[i] + (out.proof.challenge * *secrets[i]).negated();
    return out;
}

Status<MaskError> check_cohort(const MaskRound& round, const CohortKeys& keys) {
    if (keys.size() < kCohortMin || keys.size() > kCohortMax) return Unexpected{MaskError::wrong_count};
    std::vector<CurvePoint> all;
    for (const auto& [run, own] : keys) {
        const auto points = own.points();
        all.insert(all.end(), points.begin(), points.end());
    }
    std::sort(all.begin(), all.end());
    if (std::adjacent_find(all.begin(), all.end()) != all.end()) return Unexpected{MaskError::same_key};
    for (const auto& [run, own] : keys) RETRACE_CHECK(check_keys(round, run, own));
    return Unit{};
}

std::uint32_t place_of(const CohortKeys& cohort, std::uint32_t run) {
    const auto found = cohort.find(run);
    ensure(found != cohort.end(), "the run is a member of the cohort");
    return static_cast<std::uint32_t>(std::distance(cohort.begin(), found));
}

std::uint32_t share_threshold(std::size_t members) { return static_cast<std::uint32_t>((2 * members + 2) / 3); }

bool are_enough(std::size_t members, std::size_t cohort, std::size_t least) {
    return members >= std::max<std::size_t>({share_threshold(cohort), least, kCohortMin});
}

Bytes encode(const MaskShares& shares) {
    Writer out;
    for (const CurvePoint& point : shares.self_commitments) out.raw(point.bytes());
    for (const CurvePoint& point : shares.mask_commitments) out.raw(point.bytes());
    for (const MaskShares::Sealed& sealed : shares.sealed) out.hash(sealed.self).hash(sealed.mask);
    return std::move(out).take();
}

Result<MaskShares, MaskError> decode_mask_shares(View bytes, std::size_t members) {
    if (members < kCohortMin || members > kCohortMax) return Unexpected{MaskError::wrong_count};
    const std::size_t commitments = share_threshold(members) - 1;
    if (bytes.size() != 2 * (commitments * CurvePoint::kBytes + members * Scalar::kBytes))
        return Unexpected{MaskError::wrong_length};
    MaskReader in(bytes);
    MaskShares out;
    for (std::size_t i = 0; i < commitments; ++i) out.self_commitments.push_back(in.point());
    for (std::size_t i = 0; i < commitments; ++i) out.mask_commitments.push_back(in.point());
    for (std::size_t i = 0; i < members; ++i) {
        const Hash32 self = in.hash();
        out.sealed.push_back({self, in.hash()});
    }
    if (const auto failure = in.failure()) return Unexpected{*failure};
    return out;
}

MaskShares deal_shares(const MaskRound& round, const CohortKeys& cohort, std::uint32_t run, const MaskSecrets& secrets,
                       const RandomSource& random) {
    const auto places = static_cast<std::uint32_t>(cohort.size());
    const std::uint32_t threshold = share_threshold(places);
    const Sharing self = share_secret(secrets.self, places, threshold, random);
    const Sharing mask = share_secret(secrets.mask, places, threshold, random);
    MaskShares out{self.commitments, mask.commitments, {}};
    std::size_t place = 0;
    for (const auto& [receiver, keys] : cohort) {
        const CurvePoint agreed = ledger::shared_point(secrets.deal, keys.receive);
        out.sealed.push_back(
            {sealed_with(pad_of(round, run, receiver, ShareKind::self, agreed), self.values[place].bytes()),
             sealed_with(pad_of(round, run, receiver, ShareKind::mask, agreed), mask.values[place].bytes())});
        ++place;
    }
    return out;
}

bool is_dealt(const CohortKeys& cohort, std::uint32_t dealer, const MaskShares& shares, std::uint32_t receiver,
              ShareKind kind, const Scalar& value) {
    const MaskKeys& keys = cohort.at(dealer);
    const Share share{place_of(cohort, receiver), value};
    return kind == ShareKind::self ? is_share(keys.self, shares.self_commitments, share)
                                   : is_share(keys.mask, shares.mask_commitments, share);
}

Result<Share, MaskError> open_share(const MaskRound& round, const CohortKeys& cohort, std::uint32_t dealer,
                                    const MaskShares& shares, std::uint32_t receiver, ShareKind kind,
                                    const CurvePoint& agreed) {
    const MaskShares::Sealed& sealed = shares.sealed.at(place_of(cohort, receiver));
    Hash32 opened = sealed_with(pad_of(round, dealer, receiver, kind, agreed),
                                view(kind == ShareKind::self ? sealed.self : sealed.mask));
    const auto value = Scalar::from_bytes(view(opened));
    ledger::wipe(opened.bytes);
    if (!value || !is_dealt(cohort, dealer, shares, receiver, kind, *value)) return Unexpected{MaskError::wrong_share};
    return Share{place_of(cohort, receiver), *value};
}

Bytes encode(const ShareComplaint& complaint) {
    return Writer()
        .raw(complaint.agreed.bytes())
        .raw(complaint.challenge.bytes())
        .raw(complaint.response.bytes())
        .data();
}

Result<ShareComplaint, MaskError> decode_share_complaint(View bytes) {
    MaskReader in(bytes);
    const CurvePoint agreed = in.point();
    const Scalar challenge = in.scalar(), response = in.scalar();
    if (const auto failure = in.failure()) return Unexpected{*failure};
    return ShareComplaint{agreed, challenge, response};
}

ShareComplaint complain(const MaskRound& round, const CohortKeys& cohort, std::uint32_t dealer, std::uint32_t receiver,
                        const MaskSecrets& secrets, const RandomSource& random) {
    const MaskKeys &from = cohort.at(dealer), &to = cohort.at(receiver);
    const Scalar nonce = Scalar::random(random);
    const CurvePoint agreed = ledger::shared_point(secrets.receive, from.deal);
    const Scalar challenge = challenge_of(round, dealer, receiver, from, to, agreed, ledger::public_point(nonce),
                                          ledger::shared_point(nonce, from.deal));
    return {agreed, challenge, nonce + (challenge * secrets.receive).negated()};
}

Status<MaskError> check_complaint(const MaskRound& round, const CohortKeys& cohort, std::uint32_t dealer,
                                  const MaskShares& shares, std::uint32_t receiver, const ShareComplaint& complaint) {
    if (dealer == receiver) return Unexpected{MaskError::wrong_share};
    const MaskKeys &from = cohort.at(dealer), &to = cohort.at(receiver);
    const auto first = commitment_of(complaint.challenge, complaint.response, ledger::generator(), to.receive);
    const auto second = commitment_of(complaint.challenge, complaint.response, from.deal, complaint.agreed);
    if (!first || !second ||
        challenge_of(round, dealer, receiver, from, to, complaint.agreed, *first, *second) != complaint.challenge) {
        return Unexpected{MaskError::wrong_proof};
    }
    for (const ShareKind kind : {ShareKind::self, ShareKind::mask}) {
        if (!open_share(round, cohort, dealer, shares, receiver, kind, complaint.agreed)) return Unit{};
    }
    return Unexpected{MaskError::wrong_share};
}

MaskSeed self_seed(const MaskRound& round, std::uint32_t run, const Scalar& self) {
    return bound_hash("retrace/mask-self/1", round).update_u32(run).update(self.bytes()).finish();
}

MaskSeed pair_seed(const MaskRound& round, std::uint32_t a, std::uint32_t b, const CurvePoint& agreed) {
    return bound_hash("retrace/mask-pair/1", round)
        .update_u32(std::min(a, b))
        .update_u32(std::max(a, b))
        .update(agreed.bytes())
        .finish();
}

}  // namespace retrace::market
