// SPDX-License-Identifier: MIT
#include "node/server/engine/consensus_address.hpp"

#include <algorithm>

#include "merkle/hash/sha256.hpp"

namespace retrace::node::engine {

Address20 consensus_address(const Hash32& public_key) {
    const Hash32 digest = merkle::sha256({view(public_key)});
    Address20 out{};
    std::copy_n(digest.data(), out.size(), out.begin());
    return out;
}

}  // namespace retrace::node::engine
