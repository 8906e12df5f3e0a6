// SPDX-License-Identifier: MIT
// The books of a task: what was put into its escrow, what was paid out of it, and what is left.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ledger/state/view.hpp"
#include "node/rpc_client/block_pages.hpp"

namespace retrace::node {

/// A movement of coins into or out of a task's escrow.
struct StatementLine {
    enum class Kind : std::uint8_t {
        posted,
        raised,
        joined,
        segments,
        audit,
        returned,
        place,
        topped_up,
        reserved,          ///< The deposit of the reservation by which the task began, at the height of its offer.
        deposit_returned,  ///< Its solver has the task's data, or the task was frozen before and released.
        deposit_burned,    ///< Its solver did not take the task.
        repaid,  ///< From the lock of a run to the requester, for what a rollback made void (contracts 21.14.7).
    };
    std::uint64_t height = 0;
    Kind kind{};
    ledger::Address party;  ///< Who paid in, or was paid.
    ledger::U256 amount;
    std::uint32_t run = 0;               ///< segments, repaid
    std::uint64_t first = 0, count = 0;  ///< segments: from `first` on; audit: the segment.
    std::uint64_t reservation = 0;       ///< Of a deposit.
    std::uint32_t auctions = 0;          ///< topped_up: that may follow ones without winners, in all.
    /// Whether the amount went into the escrow, and whether it went out. What is repaid passes it by, and counts as both.
    bool in() const {
        return kind == Kind::repaid || kind == Kind::posted || kind == Kind::raised || kind == Kind::joined ||
               kind == Kind::topped_up || kind == Kind::reserved;
    }
    bool out() const { return kind == Kind::repaid || !in(); }
};
std::string_view slug(StatementLine::Kind kind) noexcept;

struct Statement {
    std::uint64_t task = 0, height = 0;
    std::uint64_t from = 0;  ///< First block that was read: the posting, or the oldest that the node keeps.
    bool whole = true;       ///< Whether that is the posting.
    /// What the escrow held before `from`; zero if whole. Computed from the other sums, so nothing checks it.
    ledger::U256 brought_forward;
    ledger::Address requester;
    std::vector<StatementLine> lines;  ///< In the order of their blocks.
    ledger::U256 paid_in, paid_out;
    ledger::U256 repaid;  ///< Of both: from the locks of runs to the requester.
    ledger::U256 held;    ///< Still in the escrow, for segments, audits and the rent of a place; and the deposit of a
                          ///< reservation whose solver has yet to take the task.
    /// In a private group, of what members were paid: for segments on data of their own that accounts of their choice
    /// checked, and that nobody checked.
    struct PrivatePay {
        ledger::U256 consented, unverified;
    };
    std::optional<PrivatePay> private_pay;
    /// Sums of `lines`.
    void add_up();
    bool adds_up() const { return brought_forward + paid_in == paid_out + held; }
};

/// Reads the movements from the events and transactions since the posting, as far as the node keeps their blocks and as
/// it tells them, and what is held from its newest state. The blocks are read page by page, of a task that is over up to
/// that in which its escrow was empty.
Result<Statement> task_statement(RpcClient& client, std::uint64_t task, const PageOptions& pages = {});

}  // namespace retrace::node
