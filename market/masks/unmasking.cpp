// SPDX-License-Identifier: MIT
#include "market/masks/unmasking.hpp"

#include <algorithm>

namespace retrace::market {
namespace {

constexpr std::uint8_t kShare = 1, kComplaint = 2;

/// The secret of `dealer` that is wanted, from the shares that are revealed.
Result<Scalar, MaskError> secret_of(const MaskedRound& masked, std::uint32_t dealer,
                                    const std::map<std::uint32_t, RevealedShares>& revealed) {
    const ShareKind kind = wanted_share(masked, dealer);
    const CurvePoint& expected =
        kind == ShareKind::self ? masked.cohort.at(dealer).self : masked.cohort.at(dealer).mask;
    // Shares are looked at one by one only if those that came first do not give the secret.
    for (const bool each : {false, true}) {
        std::vector<Share> shares;
        for (const auto& [run, own] : revealed) {
            const auto found = own.find(dealer);
            if (found == own.end() || !std::holds_alternative<Scalar>(found->second)) continue;
            const Scalar& value = std::get<Scalar>(found->second);
            if (each && !is_dealt(masked.cohort, dealer, masked.dealt.at(dealer), run, kind, value)) continue;
            shares.push_back({place_of(masked.cohort, run), value});
            if (shares.size() < share_threshold(masked.cohort.size())) continue;
            const Scalar secret = reconstruct(shares);
            if (!secret.is_zero() && ledger::public_point(secret) == expected) return secret;
            break;
        }
    }
    return Unexpected{MaskError::too_few};
}

}  // namespace

Status<MaskError> check_record(const MaskedRound& masked) {
    const Runs& recorded = masked.recorded;
    if (!std::is_sorted(recorded.begin(), recorded.end(), std::less_equal<>()))
        return Unexpected{MaskError::wrong_count};
    for (const std::uint32_t run : recorded)
        if (!masked.dealt.contains(run)) return Unexpected{MaskError::not_in_cohort};
    if (!are_enough(recorded.size(), masked.cohort.size(), masked.least)) return Unexpected{MaskError::too_few};
    return Unit{};
}

ShareKind wanted_share(const MaskedRound& masked, std::uint32_t dealer) {
    const bool recorded = std::binary_search(masked.recorded.begin(), masked.recorded.end(), dealer);
    return recorded ? ShareKind::self : ShareKind::mask;
}

Bytes encode(const RevealedShares& revealed) {
    Writer out;
    out.u8(static_cast<std::uint8_t>(revealed.size()));
    for (const auto& [dealer, what] : revealed) {
        out.u32(dealer);
        if (const auto* share = std::get_if<Scalar>(&what))
            out.u8(kShare).raw(share->bytes());
        else
            out.u8(kComplaint).raw(encode(std::get<ShareComplaint>(what)));
    }
    return std::move(out).take();
}

Result<RevealedShares, MaskError> decode_revealed_shares(View bytes) {
    Reader in(bytes);
    RevealedShares out;
    const std::size_t count = in.u8();
    if (count > kCohortMax) return Unexpected{MaskError::wrong_count};
    while (in.ok() && out.size() < count) {
        const std::uint32_t dealer = in.u32();
        const std::uint8_t kind = in.enumerated(kShare, kComplaint);
        const View raw = in.raw(kind == kComplaint ? ShareComplaint::kBytes : Scalar::kBytes);
        if (!in.ok()) break;
        if (!out.empty() && dealer <= out.rbegin()->first) return Unexpected{MaskError::wrong_count};
        if (kind == kShare) {
            const auto share = Scalar::from_bytes(raw);
            if (!share) return Unexpected{MaskError::off_curve};
            out.emplace(dealer, *share);
        } else {
            RETRACE_TRY(complaint, decode_share_complaint(raw));
            out.emplace(dealer, complaint);
        }
    }
    if (!in.finish()) return Unexpected{MaskError::wrong_length};
    return out;
}

std::size_t complaints_in(View bytes) {
    constexpr std::size_t kHead = 5;  // The dealer's run and the kind.
    const std::size_t shares = bytes.empty() ? 0 : bytes[0] * (kHead + Scalar::kBytes) + 1;
    if (bytes.size() <= shares) return 0;
    return std::min<std::size_t>((bytes.size() - shares) / (ShareComplaint::kBytes - Scalar::kBytes), kCohortMax);
}

Status<MaskError> check_revealed(const MaskedRound& masked, std::uint32_t run, const RevealedShares& revealed) {
    if (!masked.dealt.contains(run)) return Unexpected{MaskError::not_in_cohort};
    if (revealed.size() != masked.dealt.size()) return Unexpected{MaskError::wrong_count};
    for (const auto& [dealer, shares] : masked.dealt) {
        const auto found = revealed.find(dealer);
        if (found == revealed.end()) return Unexpected{MaskError::wrong_count};
        if (const auto* share = std::get_if<Scalar>(&found->second)) {
            if (!is_dealt(masked.cohort, dealer, shares, run, wanted_share(masked, dealer), *share))
                return Unexpected{MaskError::wrong_share};
        } else {
            RETRACE_CHECK(check_complaint(masked.round, masked.cohort, dealer, shares, run,
                                          std::get<ShareComplaint>(found->second)));
        }
    }
    return Unit{};
}

Runs unmask_order(const MaskedRound& masked) {
    Runs out, others;
    for (const auto& [dealer, shares] : masked.dealt)
        (wanted_share(masked, dealer) == ShareKind::self ? out : others).push_back(dealer);
    out.insert(out.end(), others.begin(), others.end());
    return out;
}

Result<std::vector<MaskTerm>, MaskError> terms_of_dealer(const MaskedRound& masked, std::uint32_t dealer,
                                                         const std::map<std::uint32_t, RevealedShares>& revealed) {
    RETRACE_TRY(secret, secret_of(masked, dealer, revealed));
    if (wanted_share(masked, dealer) == ShareKind::self)
        return std::vector<MaskTerm>{{self_seed(masked.round, dealer, secret), true}};
    std::vector<MaskTerm> out;
    for (const std::uint32_t run : masked.recorded) {
        const CurvePoint agreed = ledger::shared_point(secret, masked.cohort.at(run).mask);
        out.push_back({pair_seed(masked.round, dealer, run, agreed), run < dealer});
    }
    return out;
}

Result<std::vector<MaskTerm>, MaskError> mask_terms(const MaskedRound& masked,
                                                    const std::map<std::uint32_t, RevealedShares>& revealed) {
    std::vector<MaskTerm> out;
    for (const std::uint32_t dealer : unmask_order(masked)) {
        RETRACE_TRY(terms, terms_of_dealer(masked, dealer, revealed));
        out.insert(out.end(), terms.begin(), terms.end());
    }
    return out;
}

}  // namespace retrace::market
