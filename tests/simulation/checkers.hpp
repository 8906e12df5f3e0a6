// SPDX-License-Identifier: MIT
// Properties that must hold after every block of every run, however the parties behave.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "contracts/calls/events.hpp"
#include "ledger/block/block.hpp"
#include "ledger/state/view.hpp"
#include "market/params.hpp"
#include "tests/simulation/reservation_checker.hpp"

namespace retrace::sim {

/// A party as the checkers know it.
struct Watched {
    std::string name;
    bool honest = true;
    std::uint64_t price_bp = 10'000;  ///< Price that a solver asks for a segment, in basis points of its task's
                                      ///< ceiling.
};

struct Findings {
    std::vector<std::string> violations;  ///< Sentences, in the order in which they were found.
    std::uint64_t honest_slashed = 0;
    std::uint64_t frauds_audited = 0;    ///< Wrong segments with at least one honest checker.
    std::uint64_t frauds_convicted = 0;  ///< Those of `frauds_audited` whose solver lost its whole lock.
    /// Settled runs of honest solvers that earned less than they asked for the segments they computed before anybody
    /// had opened the end state.
    std::vector<std::string> unpaid_work;
    /// Wrong segments that were paid although an audit was promised: the first of a run, the last of a task, or all.
    std::vector<std::string> paid_wrong;
    ReservationChecker::Compared reservations;  ///< How exactly the ends of reservations were compared.
};

class Checkers {
public:
    Checkers(std::map<ledger::Address, Watched> parties, const market::Params& params)
        : parties_(std::move(parties)), params_(params) {}

    /// Sets the correct roots of the states of a task.
    void set_truth(std::uint64_t task, std::vector<Hash32> roots) { truth_[task] = std::move(roots); }
    /// The same for the states of one member of a group.
    void set_truth(std::uint64_t task, std::uint32_t run, std::vector<Hash32> roots) {
        truth_of_members_[{task, run}] = std::move(roots);
    }
    /// The files of the task cannot be had, or are no program: a solver that promised its time may break its word.
    void set_unservable(std::uint64_t task) { unservable_.insert(task); }

    /// With `deep`, also walks through all records.
    void after_block(const ledger::Block& block, const ledger::StateView& view, bool deep);
    /// `done` says whether every task ended in time.
    void at_end(const ledger::StateView& view, std::uint64_t height, bool done);
    void report(std::string violation);

    const Findings& findings() const noexcept { return findings_; }

private:
    void see(const contracts::AnyEvent& event, const ledger::StateView& view);
    /// Contracts 4.5: without a base fee are only reveals, one for each member and epoch.
    void check_free_calls(const ledger::Block& block);
    void check_disputes(const ledger::StateView& view, std::uint64_t height);
    void check_stakes(const ledger::StateView& view);
    void count_frauds(const ledger::StateView& view);
    void check_outcomes(const ledger::StateView& view);
    void check_standings(const ledger::StateView& view);
    void check_paid(const ledger::StateView& view, const market::Run& run);
    void check_group(const ledger::StateView& view, const market::Task& task);
    const std::vector<Hash32>& truth_of(std::uint64_t task, std::uint32_t run);
    bool honest(const ledger::Address& address) const;
    const std::string& name(const ledger::Address& address) const;

    using SegmentId = std::tuple<std::uint64_t, std::uint32_t, std::uint64_t>;
    using RunId = std::pair<std::uint64_t, std::uint32_t>;

    std::map<ledger::Address, Watched> parties_;
    const market::Params& params_;
    std::set<std::uint64_t> unservable_;
    std::map<std::uint64_t, std::vector<Hash32>> truth_;
    std::map<RunId, std::vector<Hash32>> truth_of_members_;
    std::map<ledger::Address, ledger::U256> bonded_;  ///< Highest bond of each honest party.
    std::set<std::uint64_t> open_disputes_;
    std::uint64_t disputes_seen_ = 0;
    std::map<ledger::Address, std::uint64_t>
        free_until_;  ///< By sender: the first height of the epoch after its free call.
    std::set<std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>> opened_;  ///< Task, state, run.
    std::map<RunId, std::uint64_t> due_;    ///< Number of segments for which an honest run must be paid.
    std::set<SegmentId> accused_;           ///< Accused by an honest party whose replay ended in another root.
    std::map<RunId, ledger::U256> locked_;  ///< Lock of each run at its start.
    std::map<std::uint64_t, ledger::U256> audit_fees_;                          ///< Paid, by audit.
    std::map<ledger::Address, std::map<std::uint64_t, ledger::U256>> slashed_;  ///< By party and task.
    ReservationChecker reservations_;
    Findings findings_;
};

}  // namespace retrace::sim
