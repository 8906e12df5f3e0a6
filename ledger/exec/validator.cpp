// SPDX-License-Identifier: MIT
#include "ledger/exec/validator.hpp"

#include <algorithm>

#include "merkle/hash/sha256.hpp"

namespace retrace::ledger {

ConsensusAddress consensus_address(const Hash32& key) {
    const Hash32 digest = merkle::sha256(view(key));
    ConsensusAddress out{};
    std::copy_n(digest.data(), out.size(), out.begin());
    return out;
}

}  // namespace retrace::ledger
