// SPDX-License-Identifier: MIT
// Bytes of secure aggregation: keys, dealt shares, complaints and revealed shares have one encoding each, their points
// are on the curve, and what one party may send to the ledger breaks no check of it.
#include "ledger/crypto/curve.hpp"
#include "market/masks/opening.hpp"
#include "market/masks/unmasking.hpp"
#include "tests/fuzz/driver/choices.hpp"
#include "tests/fuzz/driver/target.hpp"

namespace retrace::fuzz {
namespace {

using namespace market;

RandomSource counting() {
    return [counter = std::uint8_t{1}](std::span<std::uint8_t> out) mutable {
        for (std::uint8_t& byte : out) byte = counter = static_cast<std::uint8_t>(counter * 5 + 3);
        ++counter;
    };
}

/// Three members that have dealt; the first two are recorded.
struct Dealt {
    std::map<std::uint32_t, MaskSecrets> secrets;
    MaskedRound masked;
};
Dealt dealt_round() {
    Dealt out;
    const RandomSource random = counting();
    for (const std::uint32_t run : {0u, 3u, 4u}) {
        out.secrets.emplace(run, MaskSecrets::random(random));
        out.masked.cohort.emplace(run, out.secrets.at(run).keys(out.masked.round, run, random));
    }
    for (const auto& [run, own] : out.secrets)
        out.masked.dealt.emplace(run, deal_shares(out.masked.round, out.masked.cohort, run, own, random));
    out.masked.recorded = {0, 3};
    return out;
}

RevealedShares revealed_of(const Dealt& round, std::uint32_t run) {
    RevealedShares out;
    const MaskedRound& masked = round.masked;
    for (const auto& [dealer, shares] : masked.dealt) {
        const auto agreed = ledger::shared_point(round.secrets.at(run).receive, masked.cohort.at(dealer).deal);
        const auto share =
            open_share(masked.round, masked.cohort, dealer, shares, run, wanted_share(masked, dealer), agreed);
        if (share && dealer != 3)
            out.emplace(dealer, share->value);
        else
            out.emplace(dealer, complain(masked.round, masked.cohort, dealer, run, round.secrets.at(run), counting()));
    }
    return out;
}

MaskOpening opening_of(const Dealt& round, std::uint32_t run) {
    MaskOpening out{round.secrets.at(run).mask, round.secrets.at(run).self, {}};
    for (const auto& [dealer, keys] : round.masked.cohort) out.dealers.emplace(dealer, keys.mask);
    return out;
}

template <class T>
void require_one_encoding(const Result<T, MaskError>& decoded, View bytes) {
    if (decoded)
        require(equal(encode(*decoded), bytes), "one value has one encoding");
    else
        require(slug(decoded.error()) != "invalid", "a refusal has a name");
}

}  // namespace

std::vector<Bytes> seeds() {
    const Dealt round = dealt_round();
    const Bytes revealed = encode(revealed_of(round, 0));
    return {
        with_kind(0, encode(round.masked.cohort.at(0))),
        with_kind(1, encode(round.masked.dealt.at(0))),
        with_kind(2, encode(complain(round.masked.round, round.masked.cohort, 3, 0, round.secrets.at(0), counting()))),
        with_kind(3, revealed),
        with_kind(4, revealed),
        with_kind(5, encode(opening_of(round, 0)))};
}

void run(View input) {
    Choices choices(input);
    const std::size_t kind = choices.below(6);
    const View bytes = choices.rest();
    if (kind == 0) {
        const auto keys = decode_mask_keys(bytes);
        require_one_encoding(keys, bytes);
        static const Dealt posted = dealt_round();
        if (keys && check_keys(posted.masked.round, 0, *keys))
            require(*keys == posted.masked.cohort.at(0), "nobody proves to own other keys");
        return;
    }
    if (kind == 1) return require_one_encoding(decode_mask_shares(bytes, 3), bytes);
    if (kind == 2) return require_one_encoding(decode_share_complaint(bytes), bytes);
    if (kind == 5) {
        const auto opening = decode_mask_opening(bytes);
        require_one_encoding(opening, bytes);
        if (opening) opens(*opening, 0, Hash32{});
        return;
    }
    const auto revealed = decode_revealed_shares(bytes);
    require_one_encoding(revealed, bytes);
    if (kind == 3 || !revealed) return;
    static const Dealt round = dealt_round();
    const auto status = check_revealed(round.masked, 0, *revealed);
    if (!status) return;
    // Only the shares that were dealt to member 0 pass.
    for (const auto& [dealer, what] : *revealed)
        if (const auto* share = std::get_if<Scalar>(&what))
            require(is_dealt(round.masked.cohort, dealer, round.masked.dealt.at(dealer), 0,
                             wanted_share(round.masked, dealer), *share),
                    "a share that passes was dealt");
        else
            require(false, "nobody dealt a wrong share, so no complaint passes");
}

}  // namespace retrace::fuzz
