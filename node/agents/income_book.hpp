// SPDX-License-Identifier: MIT
// What a party earned and lost by task and by day, from the ledger's events as a node tells them.
#pragma once

#include <functional>
#include <map>

#include "node/agents/earnings.hpp"

namespace retrace::node {

class IncomeBook {
public:
    struct Sum {
        ledger::U256 earned, lost;
        std::uint64_t segments = 0, audits = 0;  ///< That were paid.
        std::uint64_t last = 0;                  ///< Block of the newest payment or loss.
        bool operator==(const Sum&) const = default;
    };
    /// Where events and times are read.
    struct Source {
        std::function<Result<std::vector<PlacedLog>, RpcFailure>(const std::vector<std::optional<Hash32>>& topics,
                                                                 std::uint64_t from, std::uint64_t to)>
            logs;
        std::function<Result<std::uint64_t, RpcFailure>(std::uint64_t height)> block_time;  ///< Seconds since 1970.
    };
    static constexpr std::uint64_t kBlocks = Earnings::kBlocks;  ///< Limit of one reading.
    static constexpr std::size_t kRows = 1'000;                  ///< Tasks, audits or days that are told apart.

    explicit IncomeBook(const ledger::Address& party) : party_(party) {}

    /// Reads the new blocks up to `height` and, but for the first time, an older piece that is not read yet; at most kBlocks
    /// of each. After an error of the node the next piece of that kind is half as long, because the logs of a shorter one may
    /// be few enough to be told; otherwise nothing has changed. Where not even one older block is told the book begins, because the node no longer
    /// has it.
    Status<RpcFailure> advance(const Source& source, std::uint64_t height);

    /// The blocks that were read; both 0 before the first reading.
    std::uint64_t first() const noexcept { return first_; }
    std::uint64_t last() const noexcept { return last_; }
    /// Whether no older block remains to be read.
    bool is_complete() const noexcept { return complete_; }
    const Sum& total() const noexcept { return total_; }
    /// By task, for segments and slashes. 0: a slash for no task. Of many tasks the newest are told apart.
    const std::map<std::uint64_t, Sum>& tasks() const noexcept { return tasks_; }
    const std::map<std::uint64_t, Sum>& audits() const noexcept { return audits_; }
    /// By day since 1970 in UTC, of the block's time.
    const std::map<std::uint64_t, Sum>& days() const noexcept { return days_; }

private:
    Status<RpcFailure> read(const Source& source, std::uint64_t from, std::uint64_t to);
    /// Returns false if the node does not tell so much at once: `piece` is half as long then.
    Result<bool, RpcFailure> read_piece(const Source& source, std::uint64_t from, std::uint64_t to,
                                        std::uint64_t& piece);
    Status<RpcFailure> read_newer(const Source& source, std::uint64_t height);
    Status<RpcFailure> read_older(const Source& source);

    ledger::Address party_;
    std::uint64_t first_ = 0, last_ = 0;
    std::uint64_t newer_piece_ = kBlocks, older_piece_ = kBlocks;  ///< Blocks of the next readings.
    bool complete_ = false;
    Sum total_;
    std::map<std::uint64_t, Sum> tasks_, audits_, days_;
};

}  // namespace retrace::node
