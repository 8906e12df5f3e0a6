// SPDX-License-Identifier: MIT
// Converts the records of group tasks to the views of the agents, as views.hpp does for the others.
#pragma once

#include "node/agents/views.hpp"

namespace retrace::node {

/// The terms of a group as the agents have them.
solver::GroupTerms group_terms_of(const market::TaskSpec& spec, const market::GroupSpec& group);

/// Masks as the agents have them.
std::vector<kernels::MaskRow> mask_rows(const std::vector<market::MaskTerm>& terms);

/// The segment from state `index` of a run to the next, with the records that it takes in; nullopt: the task is not a
/// group's, or records are missing.
std::optional<solver::SegmentView> segment_view(const ledger::StateView& view, std::uint64_t task, std::uint32_t run,
                                                std::uint64_t index, Immutable& immutable);
/// In a private group, sets the data sets of `terms` to those of the member: for itself, and for who replays its inner
/// steps.
void set_member_data(const ledger::StateView& view, std::uint32_t run, solver::TaskTerms& terms);
/// How the run's state 0 is made; nullopt: the task is not a group's.
std::optional<solver::EntryView> entry_view(const ledger::StateView& view, std::uint64_t task, std::uint32_t run);
/// What a member sees of its group; nullopt: the task is not a group's, or records are missing.
std::optional<solver::MemberView> member_view(const ledger::StateView& view, const market::Run& run,
                                              Immutable& immutable);

/// The lowest of the run's finalised states that another member which joins at it may still fetch; run.finalised if
/// there is none.
/// The oldest state from which the member may have to go on after a rollback (contracts 21.14), or at which a segment starts
/// that is not final.
std::uint64_t keep_for_rollbacks(const ledger::StateView& view, const market::Run& run);
std::uint64_t keep_for_joiners(const ledger::StateView& view, const market::Task& task, const market::Run& run);

/// A seat of a running group that a solver may take.
struct FreeSeat {
    std::uint64_t task = 0;
    std::uint64_t rounds_left = 0;
    ledger::U256 price;  ///< Of a segment with all inner steps.
    /// Where the new member would begin: the finalised and opened state with the highest base; 0, 0 before the first
    /// round.
    struct Anchor {
        std::uint32_t run = 0;
        std::uint64_t index = 0;
        std::uint32_t base = 0;
        std::vector<Hash32> shared = {};  ///< Roots of the shared tensors there; empty before the first round.
    } anchor;
};
/// Those of the groups that `self` takes no part in. A seat that is `ready` keeps its anchor while the new member would not
/// be behind by more than half of the rounds that are kept.
std::vector<FreeSeat> free_seats(const ledger::StateView& view, const ledger::Address& self, Immutable& immutable,
                                 const std::vector<solver::SeatView>& ready = {});
/// The seat as the solver's agent sees it.
solver::SeatView seat_view(const ledger::StateView& view, const FreeSeat& seat, const market::TaskSpec& spec,
                           const market::Params& params, const ledger::Address& self, Immutable& immutable);

/// Runs whose messages the records name: whom to ask for them.
std::set<std::pair<std::uint64_t, std::uint32_t>> authors_of(std::uint64_t task,
                                                             const std::vector<solver::RecordView>& records);
/// Those, and the runs that sent a message in the open round.
std::set<std::pair<std::uint64_t, std::uint32_t>> authors_of(std::uint64_t task, const solver::MemberView& member);

}  // namespace retrace::node
