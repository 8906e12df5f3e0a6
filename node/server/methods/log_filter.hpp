// SPDX-License-Identifier: MIT
#pragma once

#include "ledger/chain/log_search.hpp"
#include "node/server/jsonrpc/router.hpp"
#include "node/server/methods/backend.hpp"

namespace retrace::node::rpc {

/// The argument of eth_getLogs: a filter and a range of blocks.
struct LogQuery {
    ledger::LogFilter filter;
    BlockRef from;  ///< `latest` when absent.
    BlockRef to;
    std::optional<Hash32> block_hash;
};
/// Heap memory of a filter.
std::size_t bytes_of(const ledger::LogFilter& filter);
/// Parses parameter `index` of the request. At most 1000 addresses, 4 positions and 1000 topics in each.
Checked<LogQuery> parse_log_query(const Params& params, std::size_t index);

inline constexpr std::size_t kLogsMax = 10'000;         ///< Logs in one answer.
inline constexpr std::uint64_t kLogRangeMax = 100'000;  ///< Blocks in one query.

/// The blocks that a search goes through: `last` is clipped to the tip, and `first` is above it if there are none.
/// Errors name the limit that was exceeded, or the oldest block that is kept.
struct LogRange {
    std::uint64_t first = 0, last = 0;
    bool empty() const noexcept { return first > last; }
};
Checked<LogRange> log_range(const Backend& backend, std::uint64_t first, std::uint64_t last);
/// Runs `search_logs` and charges the caller. It ends as `missing` at a block that was pruned meanwhile.
Checked<ledger::FoundLogs> search_kept(const Backend& backend, Caller& caller, const ledger::LogFilter& filter,
                                       const LogRange& range);
/// Same, but such a block is an error.
Checked<ledger::FoundLogs> search(const Backend& backend, Caller& caller, const ledger::LogFilter& filter,
                                  const LogRange& range);

/// Returns all matching logs; an error if they exceed the limits.
Checked<std::vector<ledger::LogEntry>> find_logs(const Backend& backend, Caller& caller,
                                                 const ledger::LogFilter& filter, std::uint64_t first,
                                                 std::uint64_t last);
Checked<std::vector<ledger::LogEntry>> find_logs(const Backend& backend, Caller& caller, const LogQuery& query);

}  // namespace retrace::node::rpc
