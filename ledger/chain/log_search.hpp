// SPDX-License-Identifier: MIT
// eth_getLogs: events of a range of blocks that match a filter, found through the blooms.
#pragma once

#include "ledger/chain/chain.hpp"

namespace retrace::ledger {

struct LogFilter {
    std::vector<Address> addresses;           ///< Any of these; empty: all.
    std::vector<std::vector<Hash32>> topics;  ///< For each position any of these; an empty list matches all.
                                              ///< A log with fewer topics than positions does not match.
};
bool matches(const LogFilter& filter, const Log& log);
bool may_match(const LogFilter& filter, const Bloom& bloom);

/// A log and its place. Logs of begin_block belong to no transaction: they come first in the block, `tx_hash`
/// is the block's hash and `tx_index` is 0.
struct LogEntry {
    Log log;
    std::uint64_t height = 0;
    Hash32 block_hash;
    std::uint64_t time_s = 0;
    Hash32 tx_hash;
    std::uint32_t tx_index = 0;
    std::uint64_t log_index = 0;  ///< Within the block.
};

/// All matching logs of one block, in order.
std::vector<LogEntry> logs_of(const Block& block, const LogFilter& filter);
/// Logs of the heights first..last (both included, clipped to the chain). An Error when more than `limit`
/// match.
Result<std::vector<LogEntry>> search_logs(const Chain& chain, std::uint64_t first, std::uint64_t last,
                                          const LogFilter& filter, std::size_t limit);

}  // namespace retrace::ledger
