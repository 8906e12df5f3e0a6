// SPDX-License-Identifier: MIT
#include "market/masks/opening.hpp"

#include "merkle/hash/sha256.hpp"

namespace retrace::market {

Bytes encode(const MaskOpening& opening) {
    Writer out;
    out.raw(opening.mask.bytes()).raw(opening.self.bytes());
    for (const auto& [run, key] : opening.dealers) out.u32(run).raw(key.bytes());
    return std::move(out).take();
}

Result<MaskOpening, MaskError> decode_mask_opening(View bytes) {
    constexpr std::size_t kSecrets = 2 * Scalar::kBytes, kDealer = 4 + CurvePoint::kBytes;
    if (bytes.size() < kSecrets || (bytes.size() - kSecrets) % kDealer != 0) return Unexpected{MaskError::wrong_length};
    const std::size_t count = (bytes.size() - kSecrets) / kDealer;
    if (count == 0 || count > kCohortMax) return Unexpected{MaskError::wrong_count};
    Reader in(bytes);
    const auto mask = Scalar::from_bytes(in.raw(Scalar::kBytes)), self = Scalar::from_bytes(in.raw(Scalar::kBytes));
    if (!mask || !self || mask->is_zero() || self->is_zero()) return Unexpected{MaskError::off_curve};
    MaskOpening out{*mask, *self, {}};
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t run = in.u32();
        const auto key = CurvePoint::decode(in.raw(CurvePoint::kBytes));
        if (!key) return Unexpected{MaskError::off_curve};
        if (!out.dealers.empty() && run <= out.dealers.rbegin()->first) return Unexpected{MaskError::wrong_count};
        out.dealers.emplace(run, *key);
    }
    return out;
}

Hash32 dealers_digest(const CurvePoint& self, const DealerKeys& dealers) {
    merkle::Sha256 hash;
    hash.update(view(std::string_view("retrace/mask-dealers/1"))).update(self.bytes());
    for (const auto& [run, key] : dealers) hash.update_u32(run).update(key.bytes());
    return hash.finish();
}

std::vector<MaskTerm> message_terms(const MaskRound& round, std::uint32_t run, const MaskOpening& opening) {
    std::vector<MaskTerm> out{{self_seed(round, run, opening.self), true}};
    for (const auto& [other, key] : opening.dealers)
        if (other != run)
            out.push_back({pair_seed(round, run, other, ledger::shared_point(opening.mask, key)), run < other});
    return out;
}

bool opens(const MaskOpening& opening, std::uint32_t run, const Hash32& digest) {
    const auto own = opening.dealers.find(run);
    if (own == opening.dealers.end() || ledger::public_point(opening.mask) != own->second) return false;
    return dealers_digest(ledger::public_point(opening.self), opening.dealers) == digest;
}

}  // namespace retrace::market
