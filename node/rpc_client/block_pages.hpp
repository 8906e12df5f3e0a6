// SPDX-License-Identifier: MIT
// Reads any number of blocks from a node that answers about a limited number at once.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

#include "node/rpc_client/rpc_client.hpp"

namespace retrace::node {

struct PageOptions {
    std::uint64_t blocks = 20'000;  ///< Of one page at most.
    /// Called after each page with the next block to read and the last one.
    std::function<void(std::uint64_t next, std::uint64_t last)> on_page = {};
};

/// Reads the blocks `first` to `last`. Returns whether to go on with the next page. After an error it is called again
/// with fewer of these blocks, so it must have kept nothing of them.
using ReadPage = std::function<Result<bool, RpcFailure>(std::uint64_t first, std::uint64_t last)>;

/// Calls `read` for the blocks `from` to `to`, page by page in ascending order. A page that the node refuses, because it
/// has too many blocks or too many results, is read in halves; the pages after it are as short, and double again after
/// sixteen of them. Returns the block after the last one that was read: `to` + 1, or less if `read` has returned false. The error
/// is that of a single block that is refused, or of a node that does not answer or is behind.
Result<std::uint64_t, RpcFailure> read_pages(std::uint64_t from, std::uint64_t to, const PageOptions& options,
                                             const ReadPage& read);

/// A node's refusal of more calls than its rate limit allows.
inline constexpr int kRateLimited = -32005;
inline constexpr std::chrono::seconds kRateLimitMost{90};  ///< A client is refused for a minute at most.

inline constexpr std::chrono::seconds kBehindMost{2};  ///< A node that follows its chain has a block within this time.

/// Repeats a call that the rate limit refuses, for kRateLimitMost, or that a node answers that is behind, for kBehindMost.
/// `call` returns a Result with an RpcFailure.
template <class Call>
auto when_allowed(const Call& call, std::chrono::milliseconds pause = std::chrono::milliseconds(500)) {
    const auto start = std::chrono::steady_clock::now();
    auto answer = call();
    const auto is_repeated = [&] {
        if (answer) return false;
        const auto waited = std::chrono::steady_clock::now() - start;
        return (answer.error().code == kRateLimited && waited < kRateLimitMost) ||
               (answer.error().code == kBehind && waited < kBehindMost);
    };
    while (is_repeated()) {
        std::this_thread::sleep_for(pause);
        answer = call();
    }
    return answer;
}

}  // namespace retrace::node
