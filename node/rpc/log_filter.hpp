// SPDX-License-Identifier: MIT
#pragma once

#include "ledger/chain/log_search.hpp"
#include "node/rpc/backend.hpp"

namespace retrace::node::rpc {

/// eth_getLogs' argument: what, and in which blocks.
struct LogQuery {
    ledger::LogFilter filter;
    BlockRef from;  ///< `latest` when absent.
    BlockRef to;
    std::optional<Hash32> block_hash;
};
/// Parameter `index` of the request. At most 1000 addresses, 4 positions, 1000 topics each.
Checked<LogQuery> parse_log_query(const Params& params, std::size_t index);

inline constexpr std::size_t kLogsMax = 10'000;         ///< Of one answer.
inline constexpr std::uint64_t kLogRangeMax = 100'000;  ///< Blocks of one question.

/// Clips `last` to the tip. Errors name the limit that was passed.
Checked<std::vector<ledger::LogEntry>> find_logs(const Backend& backend, const ledger::LogFilter& filter,
                                                 std::uint64_t first, std::uint64_t last);
Checked<std::vector<ledger::LogEntry>> find_logs(const Backend& backend, const LogQuery& query);

}  // namespace retrace::node::rpc
