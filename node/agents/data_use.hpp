// SPDX-License-Identifier: MIT
// For which tasks the owner of data sets lets a solver use them, and whose data a verifier audits (contracts 21.13). Whoever
// posts a task chooses the programs that read the data, and what a member sends is public.
#pragma once

#include <set>
#include <utility>

#include "market/types.hpp"
#include "solver/chain_view.hpp"

namespace retrace::node {

/// A task's number binds nobody: it may be a stranger's that posts first. So who is named is always a requester.
struct DataUse {
    std::set<ledger::Address> requesters;  ///< Of whom every task may use them.
    std::set<std::pair<ledger::Address, Hash32>>
        plans;  ///< Of whom only tasks of this plan may: its root names all programs.

    bool empty() const { return requesters.empty() && plans.empty(); }
    /// Whether a task of this requester with this plan may use them.
    bool permits(const ledger::Address& requester, const Hash32& plan) const {
        return requesters.contains(requester) || plans.contains({requester, plan});
    }
};

/// What a run of a private group may do with the solver's data sets.
enum class DataGrant : std::uint8_t {
    none,    ///< Nothing: they are not those of the run, or nobody named it.
    train,   ///< Its programs read them.
    finish,  ///< Its requester was named when the run committed to them, and is no more: they are read in disputes only.
};
/// `own`: roots of the solver's data sets; `committed`: those to which the run has committed, if it has.
DataGrant data_grant(bool named, const std::vector<Hash32>& own, const std::vector<Hash32>& committed);

/// Takes from a view of a run all that reads private data or sends anything that follows from them: no further inner steps,
/// no roots. What it has committed to it opens, serves and plays as before.
void stop_training(solver::RunView& run);

/// Data sets of a member that a verifier audits, in the order in which a program takes them.
struct AuditedData {
    std::uint64_t task = 0;
    ledger::Address member;
    std::vector<Hash32> roots;
};
/// Whether the operator named this member of the task, and its data sets are these.
bool has_data_of(const std::vector<AuditedData>& audited, std::uint64_t task, const ledger::Address& member,
                 const std::vector<Hash32>& roots);

}  // namespace retrace::node
