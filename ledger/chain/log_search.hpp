// SPDX-License-Identifier: MIT
// eth_getLogs: events of a range of blocks that match a filter, found through the blooms.
#pragma once

#include "ledger/chain/chain.hpp"

namespace retrace::ledger {

struct LogFilter {
    std::vector<Address> addresses;           ///< Any of these; empty: all.
    std::vector<std::vector<Hash32>> topics;  ///< For each position any of these; an empty list matches all. A log with
                                              ///< fewer topics than positions does not match.
};
/// A filter with sorted alternatives for testing many logs: a search among a thousand takes ten comparisons.
class LogMatcher {
public:
    explicit LogMatcher(LogFilter filter);
    bool operator()(const Log& log) const;

private:
    LogFilter sorted_;
};
bool may_match(const LogFilter& filter, const Bloom& bloom);

/// A log and its place. Logs of begin_block belong to no transaction: they come first in the block, with the block's
/// hash as `tx_hash` and with the number of transactions as `tx_index`.
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
std::vector<LogEntry> logs_of(const Block& block, const LogMatcher& wanted);
inline std::vector<LogEntry> logs_of(const Block& block, const LogFilter& filter) {
    return logs_of(block, LogMatcher(filter));
}

/// Results of a search up to its end.
struct FoundLogs {
    enum class End : std::uint8_t {
        complete,  ///< Every block of the range was searched.
        full,      ///< More logs would exceed the limit.
        stopped,   ///< `meter` ended the search.
        missing,   ///< The block `next` is not kept.
    };
    End end = End::complete;
    std::vector<LogEntry> logs;
    std::uint64_t next = 0;  ///< The first height that was not searched; a further search begins there.
};

/// Searches the heights first..last (inclusive, clipped to the chain). The result has whole blocks only: it exceeds
/// `limit` only if the first matching block alone does.
FoundLogs search_logs(const Chain& chain, std::uint64_t first, std::uint64_t last, const LogFilter& filter,
                      std::size_t limit, const WorkMeter& meter = {});

}  // namespace retrace::ledger
