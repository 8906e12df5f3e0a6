// SPDX-License-Identifier: MIT
// The contracts' records, decoded once when they are written, for the generator and the checks. It follows the diffs of
// blocks and calls, and never reads the state.
#pragma once

#include <array>
#include <map>
#include <set>

#include "contracts/lifecycle/effects.hpp"
#include "contracts/records/group_views.hpp"
#include "contracts/records/reservations.hpp"
#include "contracts/records/validator_views.hpp"
#include "contracts/records/views.hpp"
#include "ledger/state/state.hpp"

namespace retrace::stateful {

using ledger::Address;
using ledger::U256;

struct RunModel {
    market::Run run;
    std::map<std::uint64_t, market::Checkpoint> states;
    std::map<std::uint64_t, market::Segment> segments;
};
struct TaskModel {
    market::Task task;
    market::TaskSpec spec;
    std::map<Address, market::Bid> bids;
    std::vector<RunModel> runs;
    std::optional<market::Group> group;                                        ///< Of the task of a group.
    std::map<std::uint32_t, market::RoundMasks> masks;                         ///< By round.
    std::set<std::pair<std::uint32_t, std::uint32_t>> member_masks, holdings;  ///< Rounds and runs that have a record.
};

/// How often records entered each of their states, indexed by the state's number.
using Visits = std::array<std::uint64_t, 16>;
struct Reached {
    Visits tasks{}, runs{}, segments{}, audits{}, seats{}, disputes{}, dispute_kinds{}, endings{}, reports{},
        report_kinds{}, retentions{}, challenges{}, reservations{};
    std::uint64_t raised = 0;          ///< Auctions for more replicas.
    std::uint64_t successors = 0;      ///< Runs that start from a paid state.
    std::uint64_t joined_late = 0;     ///< Runs with segments that are paid to another run.
    std::uint64_t late_schedules = 0;  ///< Blocks that left due items to the next block.
    std::size_t longest_list = 0;      ///< Most items of one record.
    void add(const Reached& other);
};

class Mirror {
public:
    void apply(const ledger::StateDiff& diff);

    std::vector<TaskModel> tasks;       ///< Index: id - 1.
    std::vector<market::Audit> audits;  ///< Index: id - 1; likewise the next four.
    std::vector<market::Dispute> disputes;
    std::vector<market::Report> reports;
    std::vector<market::Retention> retentions;
    std::vector<market::Reservation> reservations;
    std::set<std::uint64_t> active_tasks, open_audits, open_disputes, open_reports, open_retentions;
    std::map<std::uint64_t, market::Challenge> challenges;  ///< The newest challenge of each solver.
    std::map<Address, market::Stake> stakes;
    std::map<Address, market::ValidatorInfo> validators;
    std::map<Address, market::SolverInfo> solvers;
    std::map<Address, market::VerifierInfo> verifiers;

    /// All scheduled items, by height and page.
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<contracts::ScheduledItem>> scheduler;
    std::map<Bytes, std::uint64_t> scheduled_heights;               ///< Heights of scheduled items, by key.
    std::optional<std::pair<std::uint64_t, std::uint64_t>> cursor;  ///< Set while the scheduler has a backlog.
    std::map<Bytes, std::uint64_t> queue;  ///< Audit that waits at each place; some have been seated since.
    using RunKey = std::pair<std::uint64_t, std::uint64_t>;    ///< Task and run.
    std::map<RunKey, std::vector<std::uint64_t>> held_audits;  ///< Segments whose audits wait (contracts 14.13).
    std::set<RunKey> stopped;                                  ///< Runs that have stopped (contracts 13.7.1).
    Reached reached;

    /// Returns the next height at which an item is due; nullopt: none.
    std::optional<std::uint64_t> next_due() const;

private:
    void market_record(View key, const Bytes& value);
    void staking_record(View key, const Bytes& value);
    void audits_record(View key, const Bytes& value);
    void disputes_record(View key, const Bytes& value);
    void groups_record(View key, const Bytes& value);
    void round_record(View key, const Bytes& value);
    void task_record(std::uint64_t id, const Bytes& value);
    void run_record(std::uint64_t id, std::uint64_t index, const Bytes& value);
    void audit_record(std::uint64_t id, const Bytes& value);
    TaskModel& task_of(std::uint64_t id);
    RunModel& run_of(std::uint64_t id, std::uint64_t run);
};

}  // namespace retrace::stateful
