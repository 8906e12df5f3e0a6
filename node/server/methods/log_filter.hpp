// SPDX-License-Identifier: MIT
#pragma once

#include "ledger/chain/log_search.hpp"
#include "node/server/jsonrpc/router.hpp"
#include "node/server/methods/backend.hpp"

namespace retrace::node::rpc {

/// eth_getLogs' argument: what, and in which blocks.
struct LogQuery {
    ledger::LogFilter filter;
    BlockRef from;  ///< `latest` when absent.
    BlockRef to;
    std::optional<Hash32> block_hash;
};
/// What a filter keeps in memory, beside itself.
std::size_t bytes_of(const ledger::LogFilter& filter);
/// Parameter `index` of the request. At most 1000 addresses, 4 positions, 1000 topics each.
Checked<LogQuery> parse_log_query(const Params& params, std::size_t index);

inline constexpr std::size_t kLogsMax = 10'000;         ///< Of one answer.
inline constexpr std::uint64_t kLogRangeMax = 100'000;  ///< Blocks of one question.

/// The blocks a search of these heights goes through: `last` is clipped to the tip, and `first` is past it
/// when there are none. Errors name the limit that was passed, or the oldest block that is kept.
struct LogRange {
    std::uint64_t first = 0, last = 0;
    bool empty() const noexcept { return first > last; }
};
Checked<LogRange> log_range(const Backend& backend, std::uint64_t first, std::uint64_t last);
/// `search_logs` at the caller's expense. It ends as `missing` at a block that was pruned meanwhile.
Checked<ledger::FoundLogs> search_kept(const Backend& backend, Caller& caller,
                                       const ledger::LogFilter& filter, const LogRange& range);
/// The same; such a block is an Error.
Checked<ledger::FoundLogs> search(const Backend& backend, Caller& caller, const ledger::LogFilter& filter,
                                  const LogRange& range);

/// All or an Error.
Checked<std::vector<ledger::LogEntry>> find_logs(const Backend& backend, Caller& caller,
                                                 const ledger::LogFilter& filter, std::uint64_t first,
                                                 std::uint64_t last);
Checked<std::vector<ledger::LogEntry>> find_logs(const Backend& backend, Caller& caller,
                                                 const LogQuery& query);

}  // namespace retrace::node::rpc
