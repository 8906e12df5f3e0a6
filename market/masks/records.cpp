// SPDX-License-Identifier: MIT
#include "market/masks/records.hpp"

#include "merkle/hash/sha256.hpp"

namespace retrace::market {

Hash32 mask_terms_digest(const std::vector<MaskTerm>& terms) {
    merkle::Sha256 hash;
    for (const MaskTerm& term : terms) hash.update(view(term.seed)).update_u8(term.added ? 1 : 0);
    return hash.finish();
}

}  // namespace retrace::market
