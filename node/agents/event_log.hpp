// SPDX-License-Identifier: MIT
// Collects events of the chain as they happen.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "contracts/calls/encode.hpp"
#include "market/types.hpp"
#include "node/rpc_client/block_pages.hpp"

namespace retrace::node {

struct DisputeFacts {
    contracts::DisputeOpened opened;
    std::optional<contracts::DisputeDecided> decided;
    std::uint64_t decided_height = 0;
    Hash32 last_move;                  ///< Transaction that decided it.
    std::optional<double> referee_us;  ///< Time to check its last move on this machine, in microseconds.
};

/// The line, after the number of its task if it has one.
std::string with_task(std::uint64_t task, const std::string& line);

class EventLog {
public:
    /// Called with a readable line for each notable event. `task` is 0 for an event of no task.
    using Printer = std::function<void(std::uint64_t height, std::uint64_t task, const std::string& line)>;
    /// `names`: display names of addresses. Events of the blocks up to `after` are left out.
    EventLog(std::map<ledger::Address, std::string> names, Printer print, std::uint64_t after = 0)
        : names_(std::move(names)), print_(std::move(print)), height_(after) {}

    /// Reads the events of the blocks since the last call, page by page, and at least up to block `known`, which the chain
    /// has; an Error if the node lacks it. After an error the next call goes on behind the last page that was read.
    Status<> advance(RpcClient& client, const PageOptions& pages = {}, std::uint64_t known = 0);

    std::uint64_t height() const noexcept { return height_; }
    std::optional<market::TaskState> state_of(std::uint64_t task) const;
    std::uint64_t audits(std::uint64_t task) const;          ///< Audits drawn.
    std::uint64_t verdicts_equal(std::uint64_t task) const;  ///< Revealed verdicts equal to the solver's root.
    std::map<std::uint64_t, DisputeFacts>& disputes() noexcept { return disputes_; }
    ledger::U256 slashed(const ledger::Address& party) const;
    /// Payments to a party for segments of one task.
    struct Paid {
        std::uint64_t segments = 0;
        ledger::U256 amount;
    };
    const std::map<ledger::Address, Paid>& paid(std::uint64_t task) { return paid_[task]; }
    const std::map<ledger::Address, ledger::U256>& audit_fees() const noexcept { return audit_fees_; }
    /// Runs of the task so far in order, each with its solver and how it ended.
    struct RunFacts {
        ledger::Address solver;
        std::uint64_t first_state = 0;
        std::string ended;
    };
    const std::vector<RunFacts>& runs(std::uint64_t task) { return runs_[task]; }

    /// Newest measurement of each solver, in multiply-adds per block; 0: failed.
    const std::map<ledger::Address, std::uint64_t>& capability() const noexcept { return capability_; }

    std::string name(const ledger::Address& address) const;

private:
    Result<bool, RpcFailure> read_page(RpcClient& client, std::uint64_t from, std::uint64_t to);
    void take(const PlacedLog& placed);
    void take_capability(std::uint64_t height, const ledger::Log& log);
    void take_market(std::uint64_t height, const ledger::Log& log);
    void take_reservations(std::uint64_t height, const ledger::Log& log);
    void take_audits(std::uint64_t height, const ledger::Log& log);
    void take_disputes(const PlacedLog& placed);
    void take_groups(std::uint64_t height, const ledger::Log& log);
    void print(std::uint64_t height, std::uint64_t task, const std::string& line) { print_(height, task, line); }

    std::map<ledger::Address, std::string> names_;
    Printer print_;
    std::uint64_t height_;
    std::map<std::uint64_t, market::TaskState> states_;
    std::map<std::uint64_t, std::set<std::uint64_t>> audits_;
    std::map<std::uint64_t, std::uint64_t> task_of_audit_, segment_of_audit_, equal_;
    std::map<std::uint64_t, DisputeFacts> disputes_;
    std::map<ledger::Address, ledger::U256> slashed_, audit_fees_;
    std::map<std::uint64_t, std::map<ledger::Address, Paid>> paid_;
    std::map<std::uint64_t, std::vector<RunFacts>> runs_;
    std::map<ledger::Address, std::uint64_t> capability_;
    std::map<std::uint64_t, contracts::TimeReserved> reserved_;                ///< Offers that are not over.
    std::map<std::pair<std::uint64_t, ledger::Address>, ledger::U256> asked_;  ///< Price of the newest bid on a task.
};

}  // namespace retrace::node
