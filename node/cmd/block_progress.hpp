// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>

#include "node/rpc_client/block_pages.hpp"

namespace retrace::node::cli {

/// Shows on a terminal how far blocks were read, if that takes more than a second; elsewhere nothing.
class BlockProgress {
public:
    ~BlockProgress();
    /// `next`: the next block to read, of those up to `last`.
    void operator()(std::uint64_t next, std::uint64_t last);

private:
    const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    bool shown_ = false;
};

/// Pages whose reading `progress` shows, which outlives them.
inline PageOptions pages_with(BlockProgress& progress) {
    PageOptions out;
    out.on_page = [&progress](std::uint64_t next, std::uint64_t last) { progress(next, last); };
    return out;
}

}  // namespace retrace::node::cli
