// SPDX-License-Identifier: MIT
// Shared by the two plans of `retrace task plan`: of a training by one solver, and of one in rounds.
#pragma once

#include <optional>
#include <string>

#include "kernels/program/program.hpp"
#include "market/escrow.hpp"
#include "node/cmd/task_options.hpp"

namespace retrace::node::cli {

struct TaskPlanFlags {
    std::string folder;
    ChainOptions chain;
    double link_mbit = 100;  ///< Of a member of a training in rounds.
};

struct Price {
    std::uint64_t segments = 0;  ///< Of one run.
    market::Escrow escrow;
    std::optional<ledger::U256> stake;    ///< That a bid locks; none: no stake is enough.
    std::uint64_t audit_cost_bp = 0;      ///< Expected fees of audits, as a share of the price of all segments.
    double found_one = 0, found_ten = 0;  ///< Probabilities that one bad segment is found, and one of ten.
    std::optional<std::size_t> auditors;  ///< Auditors that could be drawn now, up to the task's; none without a chain.

    bool can_audit() const { return auditors != std::size_t{0}; }
};

/// With the parameters of the chain behind the node, or those of a new chain.
Result<Price> price_of(const TaskFile& task, const ChainOptions& options);
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
int plan_rounds(const Program& program, const TaskFile& task, const TaskPlanFlags& flags);

}  // namespace retrace::node::cli
