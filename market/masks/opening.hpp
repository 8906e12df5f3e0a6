// SPDX-License-Identifier: MIT
// What a member shows of the masks of one of its messages when the state behind it is opened, so that everybody can
// compute them. SPEC 15.8.
#pragma once

#include <map>

#include "market/masks/masks.hpp"

namespace retrace::market {

/// Keys `mask` of all that dealt and were not put out, by run.
using DealerKeys = std::map<std::uint32_t, CurvePoint>;

struct MaskOpening {
    Scalar mask, self;  ///< The member's secrets.
    DealerKeys dealers;
};
/// Both secrets, and by ascending run each dealer's run u32 and key.
Bytes encode(const MaskOpening& opening);
/// wrong_length, wrong_count (no or too many dealers, or not ascending), off_curve (also a secret that is zero).
Result<MaskOpening, MaskError> decode_mask_opening(View bytes);

/// SHA-256("retrace/mask-dealers/1" ‖ the member's key `self` ‖ each dealer's run u32 and key): what the ledger keeps of
/// the keys that the masks of a message follow from.
Hash32 dealers_digest(const CurvePoint& self, const DealerKeys& dealers);
/// The masks of the message of `run`, one of the dealers: its own, then those with each other dealer by run.
std::vector<MaskTerm> message_terms(const MaskRound& round, std::uint32_t run, const MaskOpening& opening);
/// Whether the opening has the secrets of `run` and the keys that the digest stands for.
bool opens(const MaskOpening& opening, std::uint32_t run, const Hash32& digest);

}  // namespace retrace::market
