// SPDX-License-Identifier: MIT
// What a party earned and lost, from the events of the ledger.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "node/rpc_client/rpc_client.hpp"

namespace retrace::node {

struct Earnings {
    ledger::U256 segments, audits;  ///< Paid for work, and for verdicts.
    ledger::U256 reservations;      ///< Deposits of reservations that were not used.
    ledger::U256 slashed;           ///< Lost of the stake.
    ledger::U256 fees;              ///< Of its calls; only what `add_fees` has been told.
    std::uint64_t segment_count = 0, audit_count = 0, reservation_count = 0;
    std::uint64_t first = 0, last = 0;  ///< The first and the last block that were read.

    ledger::U256 income() const { return segments + audits + reservations; }
    /// Counts the log if it is about `party`.
    void take(const ledger::Log& log, const ledger::Address& party);
    /// Reads the blocks after `last` up to `height`, the newest kBlocks of them: after a longer pause older ones are missing.
    Status<RpcFailure> advance(RpcClient& client, const ledger::Address& party, std::uint64_t height);
    void add_fees(const TxOutcome& outcome) { fees = fees + outcome.gas_price * ledger::U256(outcome.gas_used); }

    /// Limit of one reading. A node charges it as so much reading against the rate limit of the client.
    static constexpr std::uint64_t kBlocks = 10'000;
};

/// Calls `adding`, which sums amounts of logs: nothing proves these, so that their sum may be more than any chain has. That
/// is an error then, and not the end of the process; what `adding` has changed is to be dropped.
Status<RpcFailure> sums_of_logs(const std::function<void()>& adding);

/// The topics of the events that Earnings counts for `party`: a log about it has one of these lists.
std::vector<std::vector<std::optional<Hash32>>> earning_topics(const ledger::Address& party);

/// "earned 2.5 coins (5 segments, 1 audit); fees 0.01; slashed 0"; with "1 unused reservation" if there are any.
std::string text_of(const Earnings& earnings);

}  // namespace retrace::node
