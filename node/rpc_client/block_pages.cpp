// SPDX-License-Identifier: MIT
#include "node/rpc_client/block_pages.hpp"

#include <algorithm>

namespace retrace::node {

namespace {

constexpr unsigned kPagesUntilLonger = 16;

}  // namespace

Result<std::uint64_t, RpcFailure> read_pages(std::uint64_t from, std::uint64_t to, const PageOptions& options,
                                             const ReadPage& read) {
    const std::uint64_t most = std::max<std::uint64_t>(options.blocks, 1);
    std::uint64_t next = from, blocks = most;
    unsigned until_longer = 0;  // Pages: a refusal counts against the rate limit too.
    while (next <= to) {
        const std::uint64_t count = std::min(blocks, to - next + 1), last = next + count - 1;
        const auto done = read(next, last);
        if (!done) {
            // These are no refusals: the node did not answer, or not as it should, or does not have the blocks yet.
            const int code = done.error().code;
            if (code == 0 || code == kBehind || code == kRateLimited || count == 1) return Unexpected{done.error()};
            blocks = count / 2;
            until_longer = kPagesUntilLonger;
            continue;
        }
        next = last + 1;
        if (options.on_page) options.on_page(next, to);
        if (!*done) return next;
        if (until_longer != 0 && --until_longer != 0) continue;
        blocks = std::min(most, 2 * blocks);
    }
    return next;
}

}  // namespace retrace::node
