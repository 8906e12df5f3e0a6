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
/// A filter made ready for many logs: of a thousand alternatives it looks at ten.
class LogMatcher {
public:
    explicit LogMatcher(LogFilter filter);
    bool operator()(const Log& log) const;

private:
    LogFilter sorted_;
};
bool may_match(const LogFilter& filter, const Bloom& bloom);

/// A log and its place. Logs of begin_block belong to no transaction that somebody sent: they come first in
/// the block, `tx_hash` is the block's hash and `tx_index` is behind its last transaction.
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

/// What a search found before it ended.
struct FoundLogs {
    enum class End : std::uint8_t {
        complete,  ///< Every block of the range was looked at.
        full,      ///< More would be over the limit.
        stopped,   ///< `go_on` said so.
        missing,   ///< The block `next` is not kept.
    };
    End end = End::complete;
    std::vector<LogEntry> logs;
    std::uint64_t next = 0;  ///< The first height that was not looked at: a further search begins there.
};

/// Work of a search, in reads of one small record: a bloom costs 1, a block that has to be loaded this and 1
/// for each of its transactions.
inline constexpr std::size_t kBlockWork = 16;
/// Logs of the heights first..last (both included, clipped to the chain). Whole blocks only: over `limit` is
/// at most what a single block holds, and only as the first that matches.
FoundLogs search_logs(const Chain& chain, std::uint64_t first, std::uint64_t last, const LogFilter& filter,
                      std::size_t limit, const GoOn& go_on = {});

}  // namespace retrace::ledger
