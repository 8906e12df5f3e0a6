// SPDX-License-Identifier: MIT
// Shared by the two plans of `retrace task plan`: of a training by one solver, and of one in rounds.
#pragma once

#include <boost/json/array.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernels/program/program.hpp"
#include "market/escrow.hpp"
#include "node/cmd/auction_flags.hpp"
#include "node/cmd/task_options.hpp"

namespace retrace::node::cli {

struct TaskPlanFlags {
    std::string folder;
    ChainOptions chain;
    AuctionFlags auctions;
    double link_mbit = 100;  ///< Of a member of a training in rounds.
};

/// One of those that follow one another while too few solvers bid.
struct PlannedAuction {
    ledger::U256 ceiling;               ///< Of a segment.
    std::optional<ledger::U256> stake;  ///< That a bid locks; none: no stake is enough.
    std::uint64_t ends_after = 0;       ///< Blocks from the posting to the end of its reveals.
};

struct Price {
    std::uint64_t segments = 0;  ///< Of one run.
    market::Escrow escrow;
    std::optional<ledger::U256> stake;    ///< That a bid locks in the first auction; none: no stake is enough.
    std::uint64_t audit_cost_bp = 0;      ///< Expected fees of audits, as a share of the price of all segments.
    double found_one = 0, found_ten = 0;  ///< Probabilities that one bad segment is found, and one of ten.
    std::optional<std::size_t> auditors;  ///< Auditors that could be drawn now, up to the task's; none without a chain.
    std::vector<PlannedAuction> auctions;

    bool can_audit() const { return auditors != std::size_t{0}; }
};

/// Sets the auctions of the task, and says what it costs with the parameters of the chain behind the node, or those of a
/// new chain.
Result<Price> price_of(TaskFile& task, const TaskPlanFlags& flags);
/// Says how many auctions there are, and of each, if the ceiling rises, what it pays and when it is over.
std::string auctions_of(const Price& price);
boost::json::array json_of_auctions(const Price& price);
/// Says who audits, and what happens where nobody can.
std::string auditors_of(const TaskFile& task, const Price& price);
/// Says with what probability a bad segment is found. If no auditor can be drawn, no segment is audited, and the
/// probabilities of the rules do not apply.
std::string chances_of(const Price& price);
/// Counts the elements that the optimiser changes: tensors with moments where it keeps any; otherwise all but running
/// statistics, which are named as PyTorch names them.
std::uint64_t trained_elements(const kernels::Program& program);
/// In MiB or GiB.
std::string amount(std::uint64_t bytes);

/// The plan of a training in rounds.
int plan_rounds(const Program& program, TaskFile& task, const TaskPlanFlags& flags);

}  // namespace retrace::node::cli
