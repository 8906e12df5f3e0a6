// SPDX-License-Identifier: MIT
// Reading the past from a node that may have erased it (`--keep-blocks`), or that began at a snapshot.
#pragma once

#include "node/rpc_client/rpc_client.hpp"

namespace retrace::node {

/// The first block from `wanted` on that the node keeps, as it says. An Error if it does not answer.
Result<std::uint64_t> first_kept(RpcClient& client, std::uint64_t wanted);

inline constexpr int kKeptAttempts = 5;

/// Calls `read(first)`, which returns a Status, with the first block from `wanted` on that the node keeps. If the node has
/// erased that one meanwhile, it begins again as many blocks above the oldest as were erased during the attempt. Returns
/// the block of the call that succeeded.
template <class Read>
Result<std::uint64_t> read_kept(RpcClient& client, std::uint64_t wanted, const Read& read) {
    RETRACE_TRY(first, first_kept(client, wanted));
    for (int attempt = 1;; ++attempt) {
        const Status<> done = read(first);
        if (done) return first;
        RETRACE_TRY(oldest, first_kept(client, wanted));
        if (oldest <= first || attempt == kKeptAttempts) return error(done.error().message);
        first = oldest + (oldest - first);
    }
}

}  // namespace retrace::node
